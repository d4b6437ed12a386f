"""The contract's assertions explain themselves, as those of any test."""

import pytest

pytest.register_assert_rewrite("tests.contract.host_contract")
