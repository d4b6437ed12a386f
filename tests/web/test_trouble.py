"""What a person sees when something does not work: a wrong token, a slow shell, a server that is gone."""

import re
from pathlib import Path

from playwright.async_api import expect

from tests.server.conftest import OWN_TOKEN
from tests.server.talking import Client
from tests.web.browsing import NETWORK_TROUBLE, PATIENCE_MS, Person
from tests.web.conftest import NewPerson
from tests.web.proxy import Network

# What a browser says by itself about an answer that is an error.
REFUSED = re.compile(r"the server responded with a status of 4\d\d")
CONTRAST = """() => {
  const luminance = (text) => {
    const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map((each) => each / 255)
      .map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const root = getComputedStyle(document.documentElement);
  const heading = getComputedStyle(document.querySelector('h1'));
  const [one, other] = [heading.color, root.backgroundColor].map(luminance);
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
}"""


async def test_a_wrong_token_is_told_and_the_right_one_can_be_typed(server: Client, new_person: NewPerson) -> None:
    for scheme in ("dark", "light"):
        person = await new_person(server.url, color_scheme=scheme)
        person.may_complain_about = REFUSED
        await person.page.goto(f"{server.url}/?token=wrong")
        await expect(person.page.get_by_text("This token is not known")).to_be_visible(timeout=PATIENCE_MS)
        assert await person.page.evaluate(CONTRAST) >= 7
        await expect(person.page.locator("#token")).to_be_focused(timeout=PATIENCE_MS)
        await person.page.keyboard.type(OWN_TOKEN)
        await person.page.keyboard.press("Enter")
        await person.page.locator("body[data-ready]").wait_for()


async def test_a_shell_that_takes_long_to_start_is_told_and_comes(person: Person, home: Path) -> None:
    await person.open_terminal()
    (home / ".bashrc").write_text("while [ ! -e ~/gate ]; do sleep 0.05; done\n")
    await person.page.keyboard.press("Control+Shift+Enter")
    toast = person.page.locator(".toast", has_text="The shell takes a while to start")
    await expect(toast).to_be_visible(timeout=PATIENCE_MS)
    await person.expect_tabs(1)
    (home / "gate").touch()
    await person.expect_tabs(2)
    await expect(toast).to_have_count(0, timeout=PATIENCE_MS)


async def test_a_directory_that_is_not_there_is_told(person: Person) -> None:
    person.may_complain_about = REFUSED
    await person.open_terminal()
    await person.page.keyboard.press("Control+Shift+K")
    await person.page.get_by_label("Directory").fill("/no/such/place")
    await person.page.keyboard.press("Enter")
    toast = person.page.locator(".toast", has_text="The terminal could not be opened")
    await expect(toast).to_contain_text("/no/such/place", timeout=PATIENCE_MS)
    await person.expect_tabs(1)


async def test_a_page_whose_server_does_not_answer_can_be_tried_again(server: Client, new_person: NewPerson) -> None:
    async with Network(server.server.port) as network:
        person = await new_person(network.url)
        person.may_complain_about = NETWORK_TROUBLE
        await person.log_in(OWN_TOKEN)
        # The page itself comes, and nothing of what it asks for.
        await person.page.route("**/api/**", lambda route: route.abort())
        await person.page.reload()
        again = person.page.get_by_role("button", name="Try again")
        await expect(again).to_be_visible(timeout=PATIENCE_MS)
        await person.page.unroute("**/api/**")
        await again.click()
        await person.ready()
