"""Every exercise: its right solution passes, and each of its mistakes hears its own sentence."""

import importlib
import pkgutil
import sys
import time
from itertools import combinations

import pytest
import torch

from attention_workbook import exercises
from attention_workbook.exercises.engine import running
from attention_workbook.exercises.engine.changes import Repair
from attention_workbook.exercises.engine.edits import Source
from attention_workbook.exercises.engine.exercise import Exercise
from attention_workbook.exercises.engine.explain import Explanations, declared_edits
from attention_workbook.exercises.engine.questions import Question, Quiz
from attention_workbook.exercises.engine.slips import slips
from tests.attention_workbook.exercises import answers

MODULES = {
    module.name: importlib.import_module(f"{exercises.__name__}.{module.name}")
    for module in pkgutil.iter_modules(exercises.__path__)
    if not module.ispkg
}
EVERY = [
    pytest.param(getattr(module, name), id=f"{chapter}.{name}")
    for chapter, module in MODULES.items()
    for name in module.__all__
    if isinstance(getattr(module, name), Exercise)
]
MISTAKES = [
    pytest.param(param.values[0], mistake, id=f"{param.id}, {mistake[-1][:40]}")
    for param in EVERY
    for mistake in param.values[0].mistakes
]
every_exercise = pytest.mark.parametrize("exercise", EVERY)


def made(exercise, mistake):
    """The wrong function of a mistake."""
    if callable(mistake[0]):
        return mistake[0]
    source = Source(exercise.right)
    return source.function([*declared_edits(source, [mistake])])


def named_like(exercise, body):
    """A function with the exercise's arguments and another body."""
    arguments = ", ".join(exercise._names(exercise.right))
    world = {"torch": torch, "right": exercise.right, "sys": sys}
    code = f"def answer({arguments}):\n    {body.replace('ARGUMENTS', arguments)}"
    exec(compile(code, "<answer>", "exec"), world)
    return world["answer"]


@every_exercise
def test_the_right_solution_passes_but_for_rules_of_the_way(exercise, monkeypatch):
    monkeypatch.setattr(exercise, "rules", ())
    assert exercise(exercise.right), exercise(exercise.right)


@every_exercise
def test_no_right_result_is_nan(exercise):
    for case in exercise.cases:
        result = exercise.right(*running.copied(case))
        for part in result if isinstance(result, tuple) else (result,):
            assert not torch.as_tensor(part).isnan().any()


@pytest.mark.parametrize(("exercise", "mistake"), MISTAKES)
def test_a_mistake_hears_its_own_sentence(exercise, mistake):
    wrong = made(exercise, mistake)
    results = [running.attempt(wrong, case) for case in exercise.cases]
    errors = [x.error for x in results if isinstance(x, running.Failure)]
    assert not any(isinstance(error, NameError) for error in errors), errors
    said = exercise(wrong)
    assert not said
    assert mistake[-1] in said.message, said


@pytest.mark.parametrize("exercise", EVERY[::3])
def test_two_mistakes_at_once_hear_a_cause(exercise):
    hold_two_mistakes(exercise)


def hold_two_mistakes(exercise):
    """Four pairs at most, spread over the declared edits and the usual ones."""
    source = Source(exercise.right)
    edits = [*declared_edits(source, exercise.mistakes), *slips(source)]
    pairs = [pair for pair in combinations(edits, 2) if pair[0].fits(pair[1])]
    for pair in pairs[:: -(-len(pairs) // 4) or 1]:
        try:
            wrong = source.function(pair)
        except SyntaxError:  # one of the two takes away what the other one wraps
            continue
        said = exercise(wrong)
        assert not answers.is_bare(said.message), (pair, said)


@every_exercise
@pytest.mark.parametrize("body", ["return ...", "...", "pass", "raise NotImplementedError"])
def test_a_stub_is_not_judged(exercise, body):
    assert repr(exercise(named_like(exercise, body))) == "Write it, then run this cell."


@every_exercise
def test_a_right_answer_may_print_and_is_heard_once(exercise, capsys, monkeypatch):
    monkeypatch.setattr(exercise, "rules", ())
    assert exercise(named_like(exercise, "print('here'); return right(ARGUMENTS)"))
    assert capsys.readouterr().out == "here\n"


@every_exercise
def test_an_error_is_told_with_the_line_of_the_student(exercise, tmp_path):
    arguments = ", ".join(exercise._names(exercise.right))
    cell = tmp_path / "cell.py"
    cell.write_text(f"def answer({arguments}):\n    first = 1\n    return first + undefined\n")
    world = {}
    exec(compile(cell.read_text(), str(cell), "exec"), world)
    said = exercise(world["answer"])
    assert "stops with a NameError in the line `return first + undefined`:" in said.message


def test_the_line_is_the_students_and_not_pytorchs(tmp_path):
    cell = tmp_path / "cell.py"
    cell.write_text("import torch\n\ndef answer(x):\n    return torch.cat([x, x.sum()])\n")
    world = {}
    exec(compile(cell.read_text(), str(cell), "exec"), world)
    said = MODULES["soft_lookup"].hard_lookup(world["answer"])
    assert "in the line `return torch.cat([x, x.sum()])`" in said.message


@every_exercise
def test_an_answer_that_ends_the_program_is_refused_in_words(exercise):
    said = exercise(named_like(exercise, "sys.exit(1)"))
    assert "ends the whole program" in said.message


@pytest.mark.parametrize("exercise", EVERY[::9])
def test_an_endless_loop_ends(exercise, monkeypatch):
    monkeypatch.setattr(running, "SECONDS", 0.05)
    start = time.monotonic()
    said = exercise(named_like(exercise, "while True: pass"))
    assert "still running after 0.05 seconds" in said.message
    assert time.monotonic() - start < 10


def test_a_call_that_only_sleeps_is_left_at_the_limit(monkeypatch):
    monkeypatch.setattr(running, "SECONDS", 0.2)
    start = time.monotonic()
    said = MODULES["masking"].key_padding(lambda valid_lens, len_k: time.sleep(60))
    assert "still running after 0.2 seconds" in said.message
    assert time.monotonic() - start < 10


def test_calls_that_are_slow_together_are_left_soon(monkeypatch):
    monkeypatch.setattr(sys.modules[Exercise.__module__], "SLOW_SECONDS", 0.3)
    start = time.monotonic()
    said = MODULES["masking"].key_padding(lambda valid_lens, len_k: time.sleep(0.2) or 1)
    assert "took 0 seconds for 2 of" in said.message
    assert time.monotonic() - start < 2


def test_a_search_that_finds_no_cause_ends_after_two_seconds():
    """A right solution that takes its time is tried with one mistake after the other."""
    right = MODULES["kv_cache"].cached_heads

    def wrong(*arguments):
        output, keys, values = right.right(*arguments)
        return output + (9 * output).sin(), keys, values

    def slow(*arguments):
        end = time.process_time() + 0.1
        while time.process_time() < end:
            pass
        return right.right(*arguments)

    cases = right.cases
    search = Explanations(right.right, right.mistakes, cases, [wrong(*case) for case in cases], {})
    for variant in search.candidates:
        variant.function = slow
    start = time.process_time()
    assert search.first() == []
    assert time.process_time() - start < 4


def test_where_no_cause_is_found_the_verdict_says_so():
    graded = Exercise(powers, cases=[(NUMBERS, 3), (NUMBERS.T, 2)])
    said = graded(lambda f, g: f.pow(g) + (9 * f).sin())
    assert said.message.startswith("no single cause was found. At [0, 0]")


def test_imports_do_not_count_as_time_of_the_answer(monkeypatch, tmp_path):
    monkeypatch.setattr(running, "SECONDS", 0.2)
    (tmp_path / "slow_to_import.py").write_text("import time\ntime.sleep(0.8)\nnumber = 3\n")
    monkeypatch.syspath_prepend(tmp_path)

    def answer():
        import slow_to_import

        return slow_to_import.number

    assert running.run(answer, ()) == 3


def test_an_answer_that_spoils_pytorch_is_not_right(monkeypatch):
    """The right results are known before an answer can break what they are made with."""
    monkeypatch.setattr(torch, "arange", torch.arange)  # put back afterwards

    def answer(valid_lens, len_k):
        torch.arange = None
        return torch.arange(len_k) >= valid_lens[:, None]

    assert "stops with a TypeError" in MODULES["masking"].key_padding(answer).message


def test_an_answer_prints_once_although_it_is_called_for_every_case(capsys):
    hard_lookup = MODULES["soft_lookup"].hard_lookup

    def answer(x):
        print(tuple(x.shape))
        return x

    assert not hard_lookup(answer)
    assert capsys.readouterr().out == f"{tuple(hard_lookup.cases[0][0].shape)}\n"


def test_sentences_use_the_students_names():
    said = MODULES["heatmaps"].value_weighted(
        lambda heard, told: -heard * told.norm(dim=-1)[:, None]
    )
    assert said.message == "`heard` has the wrong sign."
    wrong = MODULES["variance"].unit_scores(lambda asked, kept, sigma: (asked @ kept.mT).sin())
    assert "changing `sigma` never changes the result" in wrong.message
    assert "Given asked = " in wrong.message


def test_names_stay_ours_where_the_student_has_fewer():
    assert "queries" in MODULES["soft_lookup"].lookup(lambda *given: given[0] * 0).message


@pytest.mark.parametrize(
    ("number", "written"),
    [(900.0, "900"), (-900.0, "-900"), (1e6, "1000000"), (0.25, "0.25"), (2 / 3, "0.667")],
)
def test_numbers_are_written_as_the_task_writes_them(number, written):
    def kept(x):
        return x * 1

    exercise = Exercise(kept, [(torch.tensor([number, 7.0]),)])
    said = exercise(lambda x: x * torch.tensor([3.0, 0.125]) + torch.tensor([0.2, 0.1]))
    assert f"it should be {written}." in said.message, said


def test_places_say_that_they_are_counted_from_0():
    def kept(x):
        return x * 1

    exercise = Exercise(kept, [(torch.tensor([[1.0, 2.0], [3.0, 4.0]]),)], axes="query key")
    said = exercise(lambda x: torch.tensor([[1.0, 2.0], [3.0, 9.5]]))
    assert "query 1, key 1 (counted from 0) your result is 9.5; it should be 4." in said.message


@pytest.mark.parametrize(
    ("result", "said"), [(None, "is the `return` missing?"), (print, "comes back"), ("1", "a str")]
)
def test_a_result_of_another_kind_hears_of_its_kind(result, said):
    answer = MODULES["write_a_contract"].batch_independent(lambda *given: result if given else 0)
    assert said in answer.message


def test_an_answer_that_changes_its_input_hears_so():
    said = MODULES["soft_lookup"].hard_lookup(lambda scores: scores.fill_(0.5))
    assert "changes `scores`, which belongs to its caller" in said.message


def test_one_of_several_right_results_is_as_good_as_another():
    token_positions = MODULES["mask_failures"].token_positions
    counted = token_positions.right
    assert token_positions(lambda real: counted(real) + 3 * (~real & (real.cumsum(dim=-1) > 0)))
    assert not token_positions(lambda real: counted(real) + 3 * real)


def powers(f, g):
    return f.pow(g)


NUMBERS = torch.arange(1.0, 21).reshape(4, 5)


def test_arguments_may_have_any_names():
    graded = Exercise(powers, cases=[(NUMBERS, 3), (NUMBERS.T, 2)])
    assert "`g` is one too small" in graded(lambda f, g: f.pow(g - 1)).message


def test_a_special_case_is_named_beside_cases_with_names():
    special = {"where the power is 0": (NUMBERS, 0)}
    graded = Exercise(powers, cases={"a cube": (NUMBERS, 3)}, special=special)
    said = graded(lambda f, g: f.pow(g) if g else f.sqrt() + f.sin()).message
    assert "it is right elsewhere and wrong where the power is 0. At [0, 0]" in said
    said = graded(lambda f, g: f.sqrt() + f.sin() if g else f.pow(g)).message
    assert "for a cube your function says 1.84" in said


def in_rows(x, factor):
    return x.view(-1, 5) * factor


def doubled(x, factor):
    return x.view(-1, 5) * factor, 2 * x


def by_a_score_that_is_not_the_largest(place):
    def lookup(queries, keys, values, temperature):
        scores = queries @ keys.mT / temperature
        weights = (scores - scores[..., place]).exp()
        return weights / weights.sum(dim=-1, keepdim=True) @ values

    return lookup


@pytest.mark.parametrize("place", [slice(0, 1), slice(-1, None)])
def test_a_softmax_subtracts_the_largest_score_of_its_row(place):
    assert not MODULES["soft_lookup"].lookup(by_a_score_that_is_not_the_largest(place))


def test_pages_are_shared_among_all_prompts():
    def with_the_first_alone(prompts, size):
        length = prompts.shape[1]
        first, *rows = [tuple(row.tolist()) for row in prompts]
        ends = range(size, length + 1, size)
        own = sum(row[:end] != first[:end] for row in rows for end in ends)
        return len(ends) + own + (len(rows) + 1) * (length % size > 0)

    assert not MODULES["serving"].page_count(with_the_first_alone)


def test_states_of_many_chunks_are_not_taken_from_one_long_product():
    def by_a_quotient(added, kept):
        product = kept.cumprod(dim=0)[:, None]
        return product * (added / product).cumsum(dim=0)

    assert not MODULES["bug_museum"].mended_case_6(by_a_quotient)


def test_masks_are_judged_row_by_row():
    def first_and_last(penalty):
        right = torch.full_like(penalty, -torch.inf).triu(1)
        return bool((penalty == right)[[0, -1]].all())

    def some_of_each_row(penalty):
        past = torch.ones_like(penalty).tril().bool()
        hides = (penalty == -torch.inf).sum(dim=-1) == (~past).sum(dim=-1)
        return bool((penalty[past] == 0).all() and hides[[0, -1]].all())

    def without_a_comparison_that_holds(penalty):
        past = torch.ones_like(penalty).tril().bool()
        shown, hidden = penalty[past], penalty[~past]
        wrong = (shown < 0).any() or (shown > 0).any()
        return not (wrong or (hidden > -torch.inf).any())

    for wrong in (first_and_last, some_of_each_row, without_a_comparison_that_holds):
        assert not MODULES["bug_museum"].right_mask(wrong)


def nucleus_of(choose):
    def nucleus(probabilities, p):
        likely = probabilities * choose(probabilities, p)
        return likely / likely.sum()

    return nucleus


@pytest.mark.parametrize("backwards", [False, True])
def test_of_equal_letters_any_are_kept_but_no_more_than_needed(backwards):
    def fewest(probabilities, p):
        x = probabilities.flip(0) if backwards else probabilities
        likely, order = x.sort(descending=True, stable=True)
        needed = (likely.cumsum(0) - likely < p).to(x.dtype)
        kept = torch.zeros_like(x).scatter(0, order, needed)
        return kept.flip(0) if backwards else kept

    def as_likely_as_the_last(probabilities, p):
        likely = probabilities.sort(descending=True).values
        return probabilities >= likely[(likely.cumsum(0) - likely < p).sum() - 1]

    nucleus = MODULES["one_block"].nucleus
    assert nucleus(nucleus_of(fewest))
    said = nucleus(nucleus_of(as_likely_as_the_last)).message
    assert "equal" in said and said.startswith("letters as probable as the last one")


def test_an_error_of_dtypes_says_how_to_meet_the_inputs():
    said = MODULES["soft_lookup"].lookup(
        lambda queries, keys, values, temperature: torch.zeros(1, keys.shape[-2]) @ values
    )
    assert "make yours like it: `zeros_like(x)`, or `.to(x.dtype)`" in said.message


def test_an_error_of_pytorchs_is_no_stub():
    grader = MODULES["soft_lookup"].hard_lookup
    said = grader(lambda scores: scores.long().softmax(dim=-1)).message
    assert "NotImplementedError" in said


def test_an_error_is_told_unless_the_mistake_explains_it():
    cases = [(NUMBERS.flatten(), 3), (torch.arange(25.0), 2)]
    mistakes = [("view(-1, 5)", "view(2, 10)", "a row holds 5 numbers.")]
    graded = Exercise(in_rows, cases, mistakes=mistakes)
    assert graded(lambda x, factor: x.view(2, 10) * factor).message == mistakes[0][-1]
    said = graded(lambda x, factor: x.view(4, 5) * -factor).message
    assert "your function stops with a RuntimeError" in said
    assert "Also, `x` has the wrong sign." in said


def test_of_several_results_the_wrong_one_is_named():
    graded = Exercise(doubled, [(NUMBERS, 3), (NUMBERS.sin(), 2)])
    said = graded(lambda x, factor: (x.view(-1, 5) * factor, x.exp())).message
    assert "At [0, 0] your result number 2 is 2.72; it should be 2." in said


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32])
def test_positions_at_padding_are_free_in_every_integer_dtype(dtype):
    positions = MODULES["mask_failures"].token_positions
    assert positions(lambda real: (real.cumsum(dim=-1) - 1).clamp(min=0).to(dtype))


def between(x, low, high):
    return (x >= low) & (x < high)


@pytest.mark.parametrize(("rows", "told"), [(1, False), (4, True)])
def test_few_booleans_do_not_prove_two_mistakes(rows, told):
    cases = [(NUMBERS[:rows], 2, 4), (NUMBERS[:rows] + 0.0, 1, 3), (NUMBERS[:rows], 3, 5)]
    said = Exercise(between, cases)(lambda x, low, high: (x > low) & (x <= high))
    assert ("border" in said.message) == told, said


def test_a_repair_that_fails_explains_nothing():
    search = Explanations(powers, [], [(NUMBERS, 3)], [NUMBERS.sin()], {})
    search.repairs = [Repair("it is odd.", mend=lambda found, right, case: found.view(7))]
    assert search.first() == []


def test_a_random_answer_hears_that_it_is_random():
    said = MODULES["soft_lookup"].hard_lookup(lambda scores: torch.rand(scores.shape))
    assert "two calls with the same arguments give different results" in said.message


@pytest.mark.parametrize("chapter", MODULES)
def test_questions_have_the_names_of_their_tables(chapter):
    module = MODULES[chapter]
    for name in module.__all__:
        question = getattr(module, name)
        if isinstance(question, Question):
            assert question.name == name
            assert question.judge(question.right)[0]
    assert isinstance(module.quiz, Quiz)
