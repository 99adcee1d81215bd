"""The report in a real browser: it draws, says nothing to the console, and fits a phone."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import escape, unescape
from pathlib import Path

import pytest
from made_up import tables, write_folder

from giusto.report import write

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
# Without a window, and without a word to anybody on the network.
ALONE = (
    "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr",
    "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
WATCHDOG_S = 120
PHONE = 375
MEASURE = """
<!doctype html><meta charset="utf-8"><pre id="found"></pre>
<iframe width="%d" height="800" srcdoc="%s"></iframe>
<script>
document.querySelector("iframe").addEventListener("load", (event) => {
  const page = event.target.contentDocument, root = page.documentElement;
  const background = () => event.target.contentWindow.getComputedStyle(page.body).backgroundColor;
  const box = (element) => element.getBoundingClientRect();
  const first = page.querySelector("#contracts tbody td").textContent;
  page.querySelector("#contracts th button").click();
  page.querySelector("#contracts th button").click();
  document.querySelector("#found").textContent = JSON.stringify({
    width: root.scrollWidth, height: root.scrollHeight, background: background(),
    charts: [...page.querySelectorAll("svg.chart")].filter((each) => box(each).height > 100).length,
    bars: [...page.querySelectorAll("rect.bin")].filter((each) => box(each).height > 1).length,
    cut: [...page.querySelectorAll("td, dd, p, h1, h3")].filter((each) => box(each).right > %d + 1).length,
    scrolled: [...page.querySelectorAll("header, nav, main, section, article, figure, .wide:not(.scroll)")]
      .filter((each) => each.scrollWidth > each.clientWidth + 1).length,
    sorted: [...page.querySelectorAll("#contracts tbody tr td:first-child")].map((each) => each.textContent),
  });
});
</script>
"""

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        BROWSER is None, reason="There is no browser: install chromium (Debian: apt install chromium)"
    ),
]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on long names, and on more than fits."""
    rows = tables(40, violations=30)
    for row in rows["losses"]:
        row["topic"] += "/" + "x" * 200
    return write(write_folder(tmp_path_factory.mktemp("report") / "tables", rows))


def look(page: Path, profile: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """What the browser prints about a page."""
    command = [str(BROWSER), *ALONE, f"--user-data-dir={profile}", *options, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=WATCHDOG_S)


def measured(page: Path, folder: Path, width: int) -> dict[str, object]:
    """How the page turns out in a window of that width."""
    frame = folder / "frame.html"
    frame.write_text(MEASURE % (width, escape(page.read_text("utf-8")), width), "utf-8")
    done = look(frame, folder / "profile", "--dump-dom", "--virtual-time-budget=10000")
    assert "CONSOLE" not in done.stderr, done.stderr
    found = re.search(r'<pre id="found">(.+?)</pre>', done.stdout)
    assert found, done.stderr
    return dict(json.loads(unescape(found[1])))


def test_a_phone_shows_all_of_it_and_nothing_sticks_out(page: Path, tmp_path: Path) -> None:
    found = measured(page, tmp_path, PHONE)
    assert (found["width"], found["cut"], found["scrolled"]) == (PHONE, 0, 0)
    assert found["charts"] == 8
    assert int(str(found["bars"])) > 50
    assert int(str(found["height"])) > 2_000


def test_a_click_on_a_heading_sorts_and_a_wide_window_is_filled(page: Path, tmp_path: Path) -> None:
    found = measured(page, tmp_path, 1_280)
    assert found["width"] == 1_280
    names = [str(each).partition("monitor")[0].partition("pump")[0] for each in list(found["sorted"])]  # type: ignore[call-overload]
    assert names == ["ward/3/alarm", "ward/3/infusion", "ward/3/vitals"]


@pytest.mark.parametrize("width", [800, 1_024])
def test_a_window_between_the_two_shows_all_of_it(page: Path, tmp_path: Path, width: int) -> None:
    found = measured(page, tmp_path, width)
    assert (found["width"], found["cut"], found["scrolled"]) == (width, 0, 0)


def test_the_page_is_dark_where_people_want_it_dark(page: Path, tmp_path: Path) -> None:
    shots = [tmp_path / f"{number}.png" for number in (0, 1)]
    for number, shot in enumerate(shots):
        done = look(page, tmp_path / "profile", f"--blink-settings=preferredColorScheme={number}",
                    f"--screenshot={shot}", "--window-size=1200,900")  # fmt: skip
        assert "CONSOLE" not in done.stderr, done.stderr
    dark, light = (shot.read_bytes() for shot in shots)
    assert dark != light
    assert min(len(dark), len(light)) > 20_000  # a blank page takes a few hundred bytes
