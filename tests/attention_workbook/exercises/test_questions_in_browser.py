"""Questions on a page: answered by keyboard and pointer, and read without a script."""

import pytest

from attention_workbook.exercises.engine.questions import Choice, Number, Quiz
from tests.attention_workbook.exercises.test_questions import all_questions
from website.extensions.exercises.questions import assets

pytestmark = pytest.mark.browser

ORIGIN = "http://book.test/"
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'"
NUMBER = Number("What is `1/2`?", 0.5, because="a half.", mistakes=[(2, "<b>upside</b> `down`.")])
CHOICE = Choice("Which?", [("<this>", "no."), ("that", "yes.")], "b")
PAGE = f"""<!doctype html><html lang="en"><title>Questions</title>
<link rel="stylesheet" href="exercise.css"><script defer src="exercise.js"></script>
{NUMBER(...)._repr_html_()}{CHOICE(...)._repr_html_()}{Quiz(NUMBER, CHOICE)()._repr_html_()}"""


def opened(chromium, body=PAGE, **options):
    """A page with questions that can reach nothing but its own two files."""
    files = {"": ("text/html", body)}
    for name, text in assets().items():
        files[name] = ("text/css" if name.endswith("css") else "text/javascript", text)

    def serve(route):
        kind, text = files[route.request.url.removeprefix(ORIGIN)]
        headers = {"Content-Security-Policy": POLICY}
        route.fulfill(body=text, content_type=f"{kind}; charset=utf-8", headers=headers)

    page = chromium.new_page(**options)
    page.troubles = []
    page.on("console", lambda message: page.troubles.append(message.text))
    page.on("pageerror", lambda error: page.troubles.append(str(error)))
    page.route("**/*", serve)
    page.goto(ORIGIN)
    return page


@pytest.fixture(scope="module")
def page(chromium):
    page = opened(chromium)
    yield page
    assert page.troubles == []
    page.close()


def said(page, number):
    return page.locator(".attention-said").nth(number).inner_text()


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("", "Write a number, then press Check."),
        ("1/2", "Correct: a half."),
        ("0,5", "Correct: a half."),
        ("2", "Not yet: <b>upside</b> down."),
        ("0.4", "Not yet: that is too small."),
        ("NaN", "Not yet: a number is expected: 0.25, 1/4, 25 % or 2e9."),
        ("1½", "Not yet: a number is expected: 0.25, 1/4, 25 % or 2e9."),
    ],
)
def test_a_number_is_checked_by_the_enter_key(page, typed, message):
    field = page.get_by_label("What is 1/2?").first
    field.fill(typed)
    field.press("Enter")
    assert said(page, 0) == message
    assert page.locator(".attention-said b").count() == 0


def test_what_was_said_goes_when_the_answer_changes(page):
    field = page.get_by_label("What is 1/2?").first
    field.fill("2")
    field.press("Enter")
    assert said(page, 0)
    field.press("Backspace")
    assert said(page, 0) == ""


def test_a_choice_is_made_by_the_arrow_keys(page):
    form = page.locator("form").nth(1)
    form.get_by_role("button").click()
    assert said(page, 1) == "Choose an answer, then press Check."
    form.get_by_role("radio").first.focus()
    for key, message in [("Space", "Not yet: no."), ("ArrowDown", "Correct: yes.")]:
        page.keyboard.press(key)
        page.keyboard.press("Enter")
        assert said(page, 1) == message


def test_names_are_those_of_the_question(page):
    assert page.get_by_role("group", name="Which?").count() == 2
    assert page.get_by_role("radio", name="a) <this>").count() == 2
    assert page.get_by_role("status").count() == 4


def test_each_question_of_a_quiz_is_its_own(page):
    quiz = page.locator(".attention-quiz")
    quiz.get_by_role("radio").nth(1).check()
    quiz.get_by_role("button", name="Check").nth(1).click()
    assert quiz.locator(".attention-said").all_inner_texts() == ["", "Correct: yes."]
    assert not page.locator("form").nth(1).get_by_role("radio").first.is_checked()
    quiz.locator("summary").first.click()
    assert quiz.locator("details").first.inner_text().endswith("a half.")


def test_answers_survive_a_reload(chromium):
    page = opened(chromium)
    page.get_by_label("What is 1/2?").first.fill("2")
    page.locator("form").first.get_by_role("button").click()
    page.get_by_role("radio").nth(1).check()
    page.locator("form").nth(1).get_by_role("button").click()
    page.reload()
    assert page.get_by_label("What is 1/2?").first.input_value() == "2"
    assert said(page, 0) == "Not yet: <b>upside</b> down."
    assert page.get_by_role("radio").nth(1).is_checked()
    assert said(page, 1) == "Correct: yes."
    assert page.troubles == []
    page.close()


def test_a_question_can_be_read_without_scripts(chromium):
    context = chromium.new_context(java_script_enabled=False)
    page = opened(context)
    assert page.locator("form").count() == 0
    assert page.get_by_text("Write it, then run this cell.").count() == 2
    quiz = page.locator(".attention-quiz")
    assert quiz.get_by_text("<this>").is_visible()
    assert not quiz.get_by_text("b: yes.").is_visible()
    quiz.locator("summary").last.click()
    assert quiz.get_by_text("b: yes.").is_visible()
    context.close()


def test_a_question_fits_a_narrow_phone(chromium):
    page = opened(chromium, viewport={"width": 320, "height": 640})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    page.close()


# Fills in each answer, presses Check, and returns what is said.
ANSWER = """answers => answers.map(([i, answer, chosen]) => {
  const form = document.querySelectorAll("form")[i];
  if (chosen) form.querySelectorAll("input")[answer].click();
  else form.querySelector("input").value = answer;
  form.querySelector("button").click();
  return document.querySelectorAll(".attention-said")[i].innerText;
})"""


def test_every_question_of_the_book_is_answered_rightly_and_wrongly(chromium):
    questions = [case.values[0] for case in all_questions()]
    forms = "".join(question(...)._repr_html_() for question in questions)
    page = opened(chromium, PAGE[: PAGE.index("<div")] + forms)
    assert page.locator("form").count() == len(questions) > 60
    answers, verdicts = [], []
    for i, question in enumerate(questions):
        if chosen := isinstance(question, Choice):
            letters = [option["key"] for option in question.options]
            wrong = next(letter for letter in letters if letter != question.right)
            tasks = {letters.index(x): question(x) for x in (question.right, wrong)}
        else:
            tasks = {
                repr(float(x)): question(x) for x in (question.right, 3 * question.right + 1e6)
            }
        answers += [[i, answer, chosen] for answer in tasks]
        verdicts += [repr(verdict).replace("`", "") for verdict in tasks.values()]
    assert [one.replace("`", "") for one in page.evaluate(ANSWER, answers)] == verdicts
    assert page.troubles == []
    page.close()
