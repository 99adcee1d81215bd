"""The report in a real browser: it draws, says nothing to the console, and fits a phone."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import escape, unescape
from pathlib import Path
from typing import Any

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
SCHEMES = {
    name: f"--blink-settings=preferredColorScheme={number}" for number, name in enumerate(("dark", "light"))
}
LEAST_CONTRAST = 4.5
"""Of text that is not large (WCAG 2, AA)."""
MEASURE = """
<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light dark"><pre id="found"></pre>
<iframe width="%d" height="800" srcdoc="%s"></iframe>
<script>
document.querySelector("iframe").addEventListener("load", (event) => {
  const page = event.target.contentDocument, root = page.documentElement;
  const style = (element) => event.target.contentWindow.getComputedStyle(element);
  const behind = (element) => style(element).backgroundColor.endsWith(", 0)") && element.parentElement
    ? behind(element.parentElement) : style(element).backgroundColor;
  const ink = (element) => element instanceof event.target.contentWindow.SVGElement ? "fill" : "color";
  const written = (element) => [...element.childNodes]
    .filter((each) => each.nodeType == 3).map((each) => each.data.trim()).join("");
  const box = (element) => element.getBoundingClientRect();
  const first = page.querySelector("#contracts tbody td").textContent;
  page.querySelector("#contracts th button").click();
  page.querySelector("#contracts th button").click();
  document.querySelector("#found").textContent = JSON.stringify({
    width: root.scrollWidth, height: root.scrollHeight, background: style(page.body).backgroundColor,
    words: [...page.body.querySelectorAll("*")].filter((each) => written(each) && box(each).height > 1)
      .filter((each) => !each.matches("title, .beyond"))
      .map((each) => [written(each), style(each)[ink(each)], behind(each)]),
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


def measured(page: Path, folder: Path, width: int, *options: str) -> dict[str, Any]:
    """How the page turns out in a window of that width."""
    frame = folder / "frame.html"
    frame.write_text(MEASURE % (width, escape(page.read_text("utf-8")), width), "utf-8")
    done = look(frame, folder / "profile", "--dump-dom", "--virtual-time-budget=10000", *options)
    assert "CONSOLE" not in done.stderr, done.stderr
    found = re.search(r'<pre id="found">(.+?)</pre>', done.stdout)
    assert found, done.stderr
    return dict(json.loads(unescape(found[1])))


def test_a_phone_shows_all_of_it_and_nothing_sticks_out(page: Path, tmp_path: Path) -> None:
    found = measured(page, tmp_path, PHONE)
    assert (found["width"], found["cut"], found["scrolled"]) == (PHONE, 0, 0)
    assert found["charts"] == 8
    assert found["bars"] > 50
    assert found["height"] > 2_000


def test_a_click_on_a_heading_sorts_and_a_wide_window_is_filled(page: Path, tmp_path: Path) -> None:
    found = measured(page, tmp_path, 1_280)
    assert found["width"] == 1_280
    names = [str(each).partition("monitor")[0].partition("pump")[0] for each in found["sorted"]]
    assert names == ["ward/3/alarm", "ward/3/infusion", "ward/3/vitals"]


@pytest.mark.parametrize("width", [800, 1_024])
def test_a_window_between_the_two_shows_all_of_it(page: Path, tmp_path: Path, width: int) -> None:
    found = measured(page, tmp_path, width)
    assert (found["width"], found["cut"], found["scrolled"]) == (width, 0, 0)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_page_is_dark_where_people_want_it_dark_and_can_be_read(
    page: Path, tmp_path: Path, scheme: str
) -> None:
    found = measured(page, tmp_path, 1_280, SCHEMES[scheme])
    brightness = luminance(found["background"])
    if scheme == "dark":
        assert brightness < 0.05
    else:
        assert brightness > 0.8
    assert len(found["words"]) > 500
    pale = [
        (words, ink, paper) for words, ink, paper in found["words"] if contrast(ink, paper) < LEAST_CONTRAST
    ]
    assert not pale


def luminance(colour: str) -> float:
    """How bright a colour is, from 0 to 1, as WCAG 2 says."""
    assert re.fullmatch(r"rgb\(\d+, \d+, \d+\)", colour), colour
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """From 1 to 21."""
    dark, bright = sorted(map(luminance, (one, other)))
    return (bright + 0.05) / (dark + 0.05)


def test_contrast_is_that_of_wcag() -> None:
    white, grey, black = "rgb(255, 255, 255)", "rgb(118, 118, 118)", "rgb(0, 0, 0)"
    assert contrast(white, black) == pytest.approx(21)
    # The palest grey that is allowed on white.
    assert contrast(grey, white) == pytest.approx(4.54, abs=0.005)


def test_what_is_drawn_is_more_than_a_blank_page(page: Path, tmp_path: Path) -> None:
    shots = [tmp_path / f"{scheme}.png" for scheme in SCHEMES]
    for scheme, shot in zip(SCHEMES.values(), shots, strict=True):
        done = look(page, tmp_path / "profile", scheme, f"--screenshot={shot}", "--window-size=1200,900")
        assert "CONSOLE" not in done.stderr, done.stderr
    dark, light = (shot.read_bytes() for shot in shots)
    assert dark != light
    assert min(len(dark), len(light)) > 20_000  # a blank page takes a few hundred bytes
