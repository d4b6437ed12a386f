"""People at the page: what they see in terminals, what they press, and what their browser complains about."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from playwright.async_api import BrowserContext, ConsoleMessage, Page, expect

# Only ends hopeless waits: a busy machine is ten times as slow.
PATIENCE_MS = 60_000

# What a browser says by itself about a network that is gone.
NETWORK_TROUBLE = re.compile(r"net::ERR_|WebSocket connection to .* failed")

_ROWS = """(index) => {
  const terminal = [...hermitty.terminals.values()][index];
  if (terminal === undefined) return [];
  const buffer = terminal.buffer.active;
  return Array.from({length: buffer.length}, (_, y) => buffer.getLine(y).translateToString(true));
}"""
_HAS_ROW = """([index, pattern]) => {
  const terminal = [...hermitty.terminals.values()][index];
  if (terminal === undefined) return false;
  const buffer = terminal.buffer.active;
  const wanted = new RegExp(pattern);
  for (let y = buffer.length - 1; y >= 0; y--) {
    if (wanted.test(buffer.getLine(y).translateToString(true))) return true;
  }
  return false;
}"""
_PROMPT_BELOW = """([index, line]) => {
  const buffer = [...hermitty.terminals.values()][index].buffer.active;
  const read = (y) => buffer.getLine(y).translateToString(true);
  const last = buffer.baseY + buffer.cursorY;
  if (!/[#$] ?$/.test(read(last))) return false;
  for (let y = last - 1; y >= 0; y--) if (read(y).endsWith(line)) return true;
  return false;
}"""
_PASTE = """(text) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData('text/plain', text);
  const options = {clipboardData, bubbles: true, cancelable: true};
  document.activeElement.dispatchEvent(new ClipboardEvent('paste', options));
}"""
_WATCH_POLICY = """document.addEventListener('securitypolicyviolation', (event) => {
  console.error('policy violated: ' + event.violatedDirective + ' ' + event.blockedURI);
});"""


@dataclass
class Person:
    """Somebody at a page."""

    page: Page
    url: str
    errors: list[str] = field(default_factory=list)
    may_complain_about: re.Pattern[str] | None = None

    @classmethod
    async def sit_down(cls, context: BrowserContext, url: str) -> "Person":
        """Open a page that listens to what its browser complains about; nothing is loaded yet."""
        page = await context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        await page.add_init_script(_WATCH_POLICY)
        person = cls(page, url)
        page.on("console", person._heard)
        page.on("pageerror", lambda error: person.errors.append(str(error)))
        return person

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(f"{message.text} ({message.location['url']})")

    async def log_in(self, token: str, *, workspace: str | None = None) -> None:
        """Open the page with a token, and wait until it shows its panels."""
        query = f"&workspace={workspace}" if workspace else ""
        await self.page.goto(f"{self.url}/?token={token}{query}")
        await self.ready()

    async def ready(self) -> None:
        """Wait until the page shows panels, or the invitation to open one."""
        await self.page.locator("body[data-ready]").wait_for()
        await self.page.locator(".watermark button.primary, .terminal-panel .xterm-screen").first.wait_for()

    async def open_terminal(self) -> None:
        """Wait for the prompt of the terminal that a page opens by itself; open one where it shows the invitation."""
        invitation = self.page.locator(".watermark button.primary")
        if await invitation.is_visible():
            await invitation.click()
        await self.prompt()

    async def prompt(self, index: int = 0) -> None:
        """Wait for a prompt."""
        await self.sees(r"[#$] $", index)

    async def prompt_after(self, line: str, index: int = 0) -> None:
        """Wait until a prompt stands below a command line, in the row of the cursor."""
        await self.page.wait_for_function(_PROMPT_BELOW, arg=[index, line])

    async def rows(self, index: int = 0) -> list[str]:
        """Read a terminal on the page with its scrollback; the first one that was opened has index 0."""
        found: list[str] = await self.page.evaluate(_ROWS, index)
        return found

    async def sees(self, pattern: str, index: int = 0) -> None:
        """Wait until a row of a terminal fits a pattern (of JavaScript). Trailing blanks count up to the cursor."""
        await self.page.wait_for_function(_HAS_ROW, arg=[index, pattern.replace("[#$] $", "[#$]")])

    async def types(self, text: str) -> None:
        """Type with the keyboard; the focus decides where to."""
        await self.page.keyboard.type(text)

    async def runs(self, line: str) -> None:
        """Type a line and Enter."""
        await self.page.keyboard.type(line)
        await self.page.keyboard.press("Enter")

    async def pastes(self, text: str) -> None:
        """Paste a text to where the focus is."""
        await self.page.evaluate(_PASTE, text)

    async def expect_tabs(self, count: int) -> None:
        """Wait until so many panels are open."""
        await expect(self.page.locator(".tab")).to_have_count(count, timeout=PATIENCE_MS)

    async def has_focus_in_terminal(self) -> None:
        """Wait until what is typed goes to a terminal."""
        await self.page.wait_for_function("() => document.activeElement?.closest('.xterm') != null")

    def complaints(self) -> list[str]:
        """What the browser complained about, and should not have."""
        allowed = self.may_complain_about
        return [each for each in self.errors if allowed is None or not allowed.search(each)]


Sit = Callable[..., Any]
