import math
import shutil
from pathlib import Path

import pytest

import interstellar
from interstellar.dashboard.answering import open_model
from interstellar.dashboard.questions import (
    Likeness,
    LinkQuestion,
    Links,
    PartnerQuestion,
    Partners,
    Question,
    Way,
)
from interstellar.errors import InterstellarError, SettingsError
from tests.dashboard.small_folders import snapshot


def names_of(folder: Path, vocabulary: str) -> list[str]:
    names = interstellar.open(folder, device="cpu").trained.task.graph
    assert isinstance(names, interstellar.KnowledgeGraph)
    return getattr(names, vocabulary).to_list()  # type: ignore[no-any-return]


def test_links_are_those_that_predict_answers_whoever_asks_at_once(
    linked: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(linked, tmp_path / "copy")
    own = interstellar.open(copy, device="cpu")
    entities, relations = names_of(copy, "entities"), names_of(copy, "relations")
    questions = [
        LinkQuestion(
            relation=relations[i % len(relations)],
            subject=entities[i] if i % 2 else None,
            object=None if i % 2 else entities[i],
            k=1 + i % 12,
            with_known=i % 3 == 0,
        )
        for i in range(40)
    ]

    found = open_model(linked, "cpu").answer(questions)

    for question, answers in zip(questions, found, strict=True):
        assert isinstance(answers, Links)
        assert answers.query == question
        expected = own.predict(
            subject=question.subject,
            relation=question.relation,
            object=question.object,
            k=question.k,
            with_known=question.with_known,
        )
        assert [each.entity for each in answers.answers] == [each.entity for each in expected]
        assert [each.known for each in answers.answers] == [each.is_known for each in expected]
        for given, wanted in zip(answers.answers, expected, strict=True):
            assert given.rank == wanted.rank
            assert given.label == wanted.label
            assert given.score == pytest.approx(wanted.logit, rel=1e-5, abs=1e-6)
            assert (given.probability is None) == (wanted.probability is None)
            if wanted.probability is not None:
                assert given.probability == pytest.approx(wanted.probability, rel=1e-4)


@pytest.mark.parametrize("decode", Likeness)
@pytest.mark.parametrize("direction", ["source", "target"])
def test_partners_are_those_that_align_lists(
    aligned: Path, decode: Likeness, direction: str
) -> None:
    own = interstellar.open(aligned, device="cpu")
    listed = own.align(decode=decode, top_k=3, threshold="none", direction=direction)
    other = "target" if direction == "source" else "source"
    expected: dict[str, list[tuple[str, float, bool]]] = {}
    for pair in listed.pairs:
        partner = getattr(pair, other), pair.score, pair.is_known
        expected.setdefault(getattr(pair, direction), []).append(partner)
    questions = [PartnerQuestion(**{direction: name}, k=3, decode=decode) for name in expected]

    found = open_model(aligned, "cpu").answer(questions)

    for answers, partners in zip(found, expected.values(), strict=True):
        assert isinstance(answers, Partners)
        assert [each.entity for each in answers.answers] == [name for name, _, _ in partners]
        assert [each.known for each in answers.answers] == [known for _, _, known in partners]
        for each, (_, score, _) in zip(answers.answers, partners, strict=True):
            assert math.isclose(each.score, score, rel_tol=1e-3, abs_tol=1e-5)


def test_a_question_that_has_no_answer_spoils_no_other(linked: Path) -> None:
    entity, relation = names_of(linked, "entities")[0], names_of(linked, "relations")[0]
    good = LinkQuestion(subject=entity, relation=relation)
    questions: list[Question] = [
        good,
        LinkQuestion(subject="nobody", relation=relation),
        PartnerQuestion(source=entity),
        good,
    ]

    first, unknown, unfit, last = open_model(linked, "cpu").answer(questions)

    assert isinstance(first, Links)
    assert first == last
    assert isinstance(unknown, InterstellarError)
    assert '"nobody" is not an entity' in str(unknown)
    assert isinstance(unfit, InterstellarError)
    assert "Ask /predict" in str(unfit)


def test_an_alignment_refuses_links_and_unknown_names(aligned: Path) -> None:
    model = open_model(aligned, "cpu")

    unfit, unknown = model.answer(
        [LinkQuestion(subject="a", relation="r"), PartnerQuestion(target="nobody")]
    )

    assert model.way is Way.ALIGN
    assert "Ask /align" in str(unfit)
    assert "nobody" in str(unknown)


def test_nothing_is_written_into_a_run_that_is_asked(linked: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(linked, tmp_path / "copy")
    (copy / "calibration.json").unlink(missing_ok=True)
    before = snapshot(copy)

    relation = LinkQuestion(subject="nobody", relation="nothing")
    open_model(copy, "cpu").answer([relation])

    assert snapshot(copy) == before


def test_a_run_with_links_to_other_places_is_refused(linked: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(linked, tmp_path / "copy")
    (copy / "weights.safetensors").unlink()
    (copy / "weights.safetensors").symlink_to(linked / "weights.safetensors")

    with pytest.raises(SettingsError, match="links to other places"):
        open_model(copy, "cpu")
