"""A machine of the cluster as its gateway has it: the contract, breaks of the connection, other gateways."""

import sys

import pytest

from hermitty.host.base import Host
from tests.cluster.conftest import Stage
from tests.contract.host_contract import HostContract

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


class TestRemoteHost(HostContract):
    """The contract."""

    stage: Stage

    @pytest.fixture(autouse=True)
    async def place(self, stage: Stage) -> None:
        self.stage = stage

    async def make_host(self) -> Host:
        return await self.stage.connected()
