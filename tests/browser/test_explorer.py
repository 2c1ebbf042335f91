"""Every view on a phone and on a desktop, by pointer and by keyboard."""

from __future__ import annotations

import re
import time

import pytest

VIEWS = {"users": "", "user": "/3", "promise": "", "playground": "", "budget": "", "page": "", "model": ""}


@pytest.fixture(autouse=True)
def surveyed(server):
    for _ in range(300):
        if (found := server.get("/v1/users").json)["n_known"] == found["n_users"]:
            return
        time.sleep(0.1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_every_view_is_whole(visit, view, scheme):
    visit.page.emulate_media(color_scheme=scheme)
    page = visit.open(view, VIEWS[view])
    assert page.locator("h1").count() == 1
    page.wait_for_timeout(300)
    visit.check()


def test_ten_thousand_users_scroll(visit):
    page = visit.open("users")
    page.select_option("select", "user_id")
    page.wait_for_selector(".users a[href='#/user/0']")
    scroller = page.locator(".window")
    for place in (300, 5_000, 9_999):
        scroller.evaluate(f"each => each.scrollTop = {52 * place}")
        page.wait_for_selector(f".users a[href='#/user/{place}']")
    assert page.locator(".users li").count() < 60
    page.fill("#search", "4321")
    page.wait_for_selector(".users li:only-child a[href='#/user/4321']")
    page.click(".users a")
    visit.shown("user")
    assert page.inner_text("h1") == "User 4321"
    visit.check()


def test_the_list_of_a_user_changes_with_utility_limit_and_price(visit, server):
    page = visit.open("user", "/3")

    def shown():
        page.wait_for_timeout(120)
        found = re.match(r"\d+", page.inner_text(".figure strong >> nth=0"))
        return int(found[0]) if found else 0

    assert shown() == server.list_of(3)["list_size"]
    assert page.locator(".items li:not(.below)").count() == shown()
    for utility in ("ndcg", "pdcg", "tp"):
        page.check(f"input[value={utility}]", force=True)
        assert shown() == server.list_of(3, utility=utility)["list_size"]
    page.check("input[value=f1]", force=True)
    page.get_by_label("Longest list").fill("2")
    assert shown() == server.list_of(3, max_size=2)["list_size"]
    page.get_by_label("Longest list").fill("50")
    before = shown()
    price = page.get_by_label("Price of showing an item")
    price.fill("40")
    assert 0 < shown() < before
    price.fill("100")
    assert shown() == 0
    visit.check()


def test_a_frame_of_what_if_is_short(visit):
    """The time of one update, as a median: well within the 16 ms of a frame."""
    page = visit.open("user", "/3")
    took = page.evaluate("""async () => {
        const slider = document.getElementById("slider-price-of-showing-an-item"), took = [];
        for (let at = 0; at < 60; at += 1) {
            slider.value = at;
            const asked = requestAnimationFrame;
            let work = null;
            window.requestAnimationFrame = (update) => (work = update, 1);
            slider.dispatchEvent(new Event("input"));
            window.requestAnimationFrame = asked;
            const started = performance.now();
            work(started);
            document.body.offsetHeight;
            took.push(performance.now() - started);
        }
        return took.sort((a, b) => a - b)[30];
    }""")
    assert took < 100, took  # a slow machine is no failure; 16 ms is what it takes at most on ours


def test_the_promise_is_shown_as_the_backtest_found_it(visit):
    page = visit.open("promise")
    assert page.inner_text(".note") == "the windows differ: <b>expect</b> as much again"
    assert page.inner_text(".figure >> nth=0").split("\n") == ["320", "users there, 251 to 400 with 90% confidence"]
    assert page.inner_text(".figure strong >> nth=1") == "200"
    assert "fewer came" in page.inner_text(".figure >> nth=2")
    drawn = page.locator("svg.chart")
    assert [each.get_attribute("aria-label").split(".")[0] for each in drawn.all()] == [
        "Users who came", "Window by window, if the user is there", "Window by window, all users",
        "By place in the list", "By group: gender",
    ]  # fmt: skip
    assert "2026-09-01: 1.10 (0.90 to 1.30)" in drawn.nth(1).get_attribute("aria-label")
    assert drawn.nth(0).locator(".dot:not(.held)").count() == 0  # without an interval nothing is broken
    assert drawn.nth(3).locator(".interval.broken").count() == 2
    visit.check()


def test_the_playground_answers_and_refuses(visit):
    page = visit.open("playground")
    page.fill("textarea", "0.9\n0.5\n0.4\nnot a number")
    page.wait_for_selector("text=Write numbers, one on each line.")
    page.fill("textarea", "0.5, 0.4, 0.3")
    page.wait_for_selector("text=/of 3$/")
    assert page.locator(".items li").count() == 3
    visit.check()


def test_a_budget_and_a_page_follow_their_sliders(visit):
    page = visit.open("budget")
    before = page.inner_text(".figure >> nth=1")
    page.get_by_label("Items for each user on average").fill("12")
    page.wait_for_function("before => document.querySelectorAll('.figure')[1].innerText !== before", arg=before)
    page = visit.open("page")
    page.get_by_label("Places on the page").fill("3")
    page.wait_for_selector("text=fill the 3 places")
    assert page.locator(".parts .items li").count() == 3
    page.get_by_label("User").fill("nobody")
    page.keyboard.press("Tab")
    page.wait_for_selector("text=is not among")
    # an unknown user is refused with a 422, which the browser writes to its console
    visit.problems = [said for said in visit.problems if "422" not in said]
    visit.check()


def test_everything_by_keyboard(visit):
    page = visit.open("users")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "view"
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("/")
    page.keyboard.type("77")
    page.wait_for_timeout(500)
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.users a')"):
            break
    name = page.evaluate("document.activeElement.querySelector('.id').textContent")
    page.keyboard.press("Enter")
    visit.shown("user")
    assert page.evaluate("document.activeElement.textContent") == f"User {name}"
    page.focus("#slider-longest-list")
    page.keyboard.press("Home")
    page.wait_for_timeout(150)
    assert page.inner_text(".figure strong >> nth=0").startswith("1 of")
    page.focus("input[value=f1]")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.querySelector('input[name=utility]:checked').value") != "f1"
    visit.check()


def test_titles_are_text_and_nothing_else(visit):
    page = visit.open("user", "/3")
    assert "<b>&\"'" in page.inner_text(".items .title >> nth=0")
    assert page.locator(".items b").count() == 0


def test_light_and_dark_by_the_button(visit):
    page = visit.open("model")
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    page.reload()
    visit.shown("model")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before


def test_the_policy_lets_no_script_in(server):
    policy = server.get("/").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert b"<script>" not in server.get("/").body
    assert b"style=" not in server.get("/").body


def test_a_key_opens_the_page(browser, world, tmp_path):
    from tests.browser.conftest import Visit
    from tests.service.running import Server

    (tmp_path / "keys").write_text("a-secret\n")
    with Server((world[1] / "recommender.sureness", "--key-file", tmp_path / "keys")) as server:
        context = browser.new_context()
        visit = Visit(context, server.address)
        page = visit.open("users")
        assert page.inner_text("h1") == "A key is needed"
        page.get_by_label("Key").fill("a-secret")
        page.keyboard.press("Enter")
        page.wait_for_selector("text=users can be given a list")
        context.close()
