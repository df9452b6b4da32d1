"""From measured values to verdicts: cells, claims, the experiment.

Nothing is run here: equal samples give equal verdicts. Results are dictionaries, as
`results.json` has them.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

import numpy as np

from .experiment import FEWEST_CONTROLLED, Claim, Column, Experiment, Means, SeedRule
from .statistics import Estimate, Known, Welch, estimate, holm, welch
from .text import AGREES_WITH_PRINT
from .verdict import FEWEST_RUNS, Comparison, Reference, compare, of_both, width_over_band

# The share of the informative cells that must agree.
ENOUGH = 0.9
# Welch: means no further apart than this share of ns-2's are not called different; a difference
# whose whole interval lies within that share is none that counts; one minus the confidence.
CLOSE, EQUIVALENT, ALPHA = 0.05, 0.10, 0.01


@dataclass
class Sample:
    """The values of one cell in one row: those of the runs that have one, and how many runs there
    were. `is_fixed` where it was computed without a seed; `cap` is what ended the seeds early;
    `control` has the values of the column's control."""

    values: list[float] = field(default_factory=list)
    runs: int = 0
    is_fixed: bool = False
    cap: Optional[str] = None
    control: Optional[Known] = None

    @property
    def known(self) -> Optional[Known]:
        """The control, where there are seeds enough for it."""
        return self.control if len(self.values) >= FEWEST_CONTROLLED else None

    @property
    def estimate(self) -> Estimate:
        """The mean, corrected if there is a control."""
        return estimate(self.values, known=self.known)


Samples = dict[tuple[str, str], Sample]


@dataclass
class Measured:
    """The measurements of an experiment: samples by profile and by variant, and packet hops as
    published. Variants that were not run are not there."""

    profiles: dict[str, Samples] = field(default_factory=dict)
    variants: dict[str, Samples] = field(default_factory=dict)
    packet_hops: int = 0


def references(experiment: Experiment, row: str, column: Column) -> dict[str, Reference]:
    """The references of a cell: `print`, `ns2`, both or none."""
    found = {}
    only_ns2 = column.against == "ns2" or row in (experiment.row_names(column.ns2_only_rows) or ())
    value = experiment.published.values.get((row, column.printed))
    if value is not None and not only_ns2:
        found["print"] = Reference.print_(value, column.read_off, column.printed_runs)
    # A column that the source does not have is a probe, unless it is there to be compared with ns-2.
    # Welch's test needs all cells at once.
    is_probe = column.printed not in experiment.published.columns and column.against != "ns2"
    has_ns2 = experiment.judge == "bands" and not is_probe and column.against != "published"
    mean = experiment.ns2.get(row, column.printed) if experiment.ns2 else None
    if has_ns2 and column.band != "digits" and experiment.ns2 is not None and mean is not None:
        runs = experiment.ns2.seeds.get((row, column.printed))
        if experiment.deterministic:
            half = 0.0
        elif runs is not None:
            half = estimate(runs).ci95
        else:
            written = experiment.ns2.get(row, f"{column.printed}_ci95")
            half = math.nan if written is None else written
        is_final = _ns2_runs(experiment, row) >= (experiment.ns2_seeds or math.inf)
        found["ns2"] = Reference("ns2", mean, half, is_final=is_final)
    return found


def _ns2_runs(experiment: Experiment, row: str) -> int:
    """The seeds of ns-2 in a row, as `tfrc-lab reference` wrote them: one number, or each with the first
    keys of its rows."""
    said = re.search(r"seeds: (.*)", " ".join(experiment.ns2.notes) if experiment.ns2 else "")
    groups = re.findall(r"(\d+)(?: \(([^)]*)\))?", said[1]) if said else []
    first = next(one.keys[0] for one in experiment.published.rows if one.name == row)
    return max((int(count) for count, rows in groups if not rows or first in rows.split(", ")), default=0)


def uninformative(experiment: Experiment, row: str, column: Column, mean: float) -> Optional[str]:
    """The reason why a cell says nothing, if it does."""
    if column.uninformative is None:
        return None
    rule, reason = column.uninformative
    ns2 = experiment.ns2.get(row, column.printed) if experiment.ns2 else None
    values = (mean, experiment.published.get(row, column.printed), ns2)
    return reason if rule(*(math.nan if x is None else x for x in values)) else None


def _is_fixed(experiment: Experiment, sample: Sample) -> bool:
    same = len(set(sample.values)) <= 1 and len(sample.values) == sample.runs
    return sample.is_fixed or (experiment.deterministic and same)


def _can_settle(experiment: Experiment, row: str, column: Column, sample: Sample) -> bool:
    """True if more seeds may change the cell's verdict."""
    mean = sample.estimate.mean
    is_whole = len(sample.values) >= sample.runs and not _is_fixed(experiment, sample)
    return is_whole and uninformative(experiment, row, column, mean) is None


def is_finished(experiment: Experiment, row: str, column: Column, sample: Sample, rule: SeedRule) -> bool:
    """True if no seed can mend a cell, or if by each of its references it is precise (half the width
    of its interval is at most `1/part` of that of the band) or decided (an interval at the level of
    this look lies inside or outside of the band)."""
    if not _can_settle(experiment, row, column, sample):
        return True

    def is_done(reference: Reference) -> bool:
        width = width_over_band(sample.values, reference, column.band, sample.known)
        if width is None or width * rule.part <= 1.0:
            return True
        level = rule.level(len(sample.values))
        found = compare(sample.values, sample.runs, reference, column.band, sample.known, level)
        return found is not None and found.verdict in ("agrees", "disagrees")

    return all(map(is_done, references(experiment, row, column).values()))


def is_open(experiment: Experiment, row: str, column: Column, sample: Sample) -> bool:
    """True if a comparison of a cell is undetermined and more seeds could settle it."""
    if not _can_settle(experiment, row, column, sample):
        return False
    return any(
        width_over_band(sample.values, reference, column.band, sample.known) is not None
        and (compared := compare(sample.values, sample.runs, reference, column.band, sample.known)) is not None
        and compared.verdict == "undetermined"
        for reference in references(experiment, row, column).values()
    )


def cell(experiment: Experiment, row: str, column: Column, sample: Sample, rfc: float = math.nan) -> dict[str, Any]:
    """A cell with its verdicts."""
    found = sample.estimate
    runs = None if _is_fixed(experiment, sample) else sample.runs
    of = references(experiment, row, column)
    compared = {
        name: compare(sample.values, runs, one, column.band, sample.known) or Comparison("undetermined", math.inf)
        for name, one in of.items()
    }
    reason = uninformative(experiment, row, column, found.mean) if of else None
    if reason is not None:
        compared = {name: Comparison("uninformative", one.distance) for name, one in compared.items()}
    verdicts = {name: one.verdict for name, one in compared.items()}
    verdict = of_both(verdicts.get("print"), verdicts.get("ns2"))
    if verdict == "undetermined":
        open_ = next((one for name, one in of.items() if verdicts[name] == "undetermined"), None)
        reason = _why_open(sample, runs, column.band, open_)
    elif reason is None and "uninformative" in verdicts.values():
        says_nothing = next(one for name, one in of.items() if verdicts[name] == "uninformative")
        own = f"the mean of {says_nothing.runs} of our runs may be as far off as the print"
        reason = own if says_nothing.of == "print" else "ns-2's own interval stays too wide"
    published = experiment.published.get(row, column.printed)
    ns2 = experiment.ns2.get(row, column.printed) if experiment.ns2 else None
    is_print = ("print" in of or "ns2" not in of) and published is not None
    base = published if is_print else ns2
    ratio = None if base in (None, 0.0) or math.isnan(found.mean) else found.mean / base
    distance = min((one.distance for one in compared.values()), default=math.inf)
    return {
        "row": row, "column": column.name, "published": published, "ns2": ns2, "measured": _none(found.mean),
        "rfc_profile": _none(rfc), "ci95": _none(found.ci95), "ratio": ratio,
        "ratio_over": None if ratio is None else "print" if is_print else "ns2",
        "distance": distance if math.isfinite(distance) else None, "band": column.band, "runs": sample.runs,
        "verdict_print": verdicts.get("print"), "verdict_ns2": verdicts.get("ns2"), "verdict": verdict,
        "note": reason, "control": column.control.name if column.control and sample.known else None,
        "uncorrected": _none(estimate(sample.values).mean),
    }  # fmt: skip


def _why_open(sample: Sample, runs: Optional[int], band: str, open_: Optional[Reference]) -> str:
    edge = "the interval crosses the edge of the band"
    if not sample.values:
        return "no run has a value"
    if runs is not None and runs < FEWEST_RUNS:
        return f"fewer than {FEWEST_RUNS} seeds"
    if runs is not None and len(sample.values) < runs:
        return f"{runs - len(sample.values)} runs have no value"
    if open_ is not None and open_.of == "ns2" and math.isnan(open_.hidden):
        return "ns-2's value has no interval"
    if open_ is not None and open_.is_vague(band):
        return "ns-2's own interval is too wide"
    caps = {"seeds": f" at the cap of {sample.runs} seeds", "hops": f" at {sample.runs} seeds, the cap on packet hops"}
    return edge + caps.get(sample.cap or "", "")


def judge(experiment: Experiment, measured: Measured, runs: int) -> dict[str, Any]:
    """All that can be said of an experiment."""
    cells = _cells(experiment, measured)
    claims = [claim(experiment, measured.profiles.get(one.profile, {}), one) for one in experiment.claims]
    tally = _tally(cells, claims)
    is_fixed = experiment.computed is not None or experiment.deterministic
    if experiment.world == "emu":
        missing = any(one["undecidable"] is None and one["holds"] is None for one in claims)
        seeds = "claims have no value for want of valid runs" if missing else None
    else:
        seeds = None if is_fixed or runs >= FEWEST_RUNS else f"fewer than {FEWEST_RUNS} seeds"
    words = {name: of_counts(tally[name], tally[f"claims_of_{name}"]) for name in ("print", "ns2")}
    alone = of_counts(tally["ns2_alone"], {"held": 0, "of": 0})
    if seeds is not None:
        words = {name: word and "undetermined" for name, word in words.items()}
        alone = alone and "undetermined"
    # Cells known only from ns-2 may lower the verdict of the print, and never raise it.
    lowered = alone if words["print"] == "agrees" and alone is not None else words["print"]
    verdict = of_both(lowered, words["ns2"])
    own = experiment.paper.own
    if verdict == "agrees-with-print":
        verdict = AGREES_WITH_PRINT[2 if own else 0 if any(tally["print"].values()) else 1]
    recorded = experiment.emulated.words if experiment.world == "emu" and experiment.emulated else None
    return {
        **head(experiment), "runs": runs, "packet_hops": measured.packet_hops,
        "verdict_print": None if own else words["print"], "verdict_recording": words["print"] if own else None,
        "verdict_ns2": words["ns2"],
        "verdict": "undetermined" if verdict in (None, "uninformative") else verdict,
        "reason": _reason(tally, seeds) + (f"; recorded on {recorded}" if recorded else ""),
        "tally": tally, "cells": cells, "claims": claims, "variants": _variants(experiment, measured),
    }  # fmt: skip


def head(experiment: Experiment) -> dict[str, Any]:
    """The part of a result that is known before anything runs."""
    return {
        "id": experiment.id, "title": experiment.title, "source": experiment.source,
        "world": experiment.world, "must_agree": experiment.must_agree,
    }  # fmt: skip


def not_run(experiment: Experiment, reason: str) -> dict[str, Any]:
    """An experiment that was not run, or not to its end."""
    return {
        **head(experiment), "runs": 0, "packet_hops": 0, "verdict_print": None, "verdict_recording": None,
        "verdict_ns2": None,
        "verdict": "not-run", "reason": reason, "tally": _tally([], []), "cells": [], "claims": [], "variants": [],
    }  # fmt: skip


def claim(experiment: Experiment, samples: Samples, one: Claim) -> dict[str, Any]:
    """A claim on these samples or, in the emulated world, on what is recorded; on the published
    table, and on ns-2's."""

    def value(get: Callable[[str, str], Optional[float]], emulated: Any = None) -> Optional[float]:
        if one.undecidable is not None:
            return None
        try:
            found = float(one.value(Means(experiment, get, emulated)))
        except ZeroDivisionError:
            return None
        return found if math.isfinite(found) else None

    recorded, ns2 = experiment.emulated, experiment.ns2
    alone = None
    if recorded is not None:
        values = recorded.values
        alone = value(lambda row, column: values[row, column].mean if (row, column) in values else None)
    measured = value(
        lambda row, column: samples[row, column].estimate.mean if (row, column) in samples else None,
        recorded,
    )
    here, emulated = (alone, None) if one.world == "emu" else (measured, alone)
    is_open = experiment.world == "sim" and one.world == "emu" and here is None
    source, theirs = value(experiment.published.get), value(ns2.get) if ns2 else None

    def holds(x: Optional[float]) -> Optional[bool]:
        return None if x is None else one.between[0] <= x <= one.between[1]

    return {
        "text": one.text, "holds": holds(here), "holds_in_source": holds(source), "holds_in_ns2": holds(theirs),
        "evidence": one.evidence, "profile": one.profile, "world": one.world, "holds_in_emulation": holds(emulated),
        "value_in_emulation": emulated, "between": list(one.between), "value": here, "value_in_source": source,
        "value_in_ns2": theirs,
        "undecidable": one.undecidable or ("no valid emulated runs are recorded" if is_open else None),
    }  # fmt: skip


def _cells(experiment: Experiment, measured: Measured) -> list[dict[str, Any]]:
    samples, rfc = (measured.profiles.get(profile, {}) for profile in ("as-published", "rfc"))
    cells = []
    for row in experiment.published.rows:
        for column in experiment.columns_.values():
            place = (row.name, column.name)
            if place in samples:
                ours = estimate(rfc[place].values).mean if place in rfc else math.nan
                cells.append(cell(experiment, row.name, column, samples[place], ours))
            if experiment.emulated and (recorded := experiment.emulated.values.get(place)):
                if place not in samples:
                    cells.append(_emulated_alone(experiment, row.name, column, recorded.mean))
                cells[-1].update(
                    emulated=_none(recorded.mean), emulated_ci95=_none(recorded.ci95),
                    emulated_runs=recorded.runs, emulated_note=recorded.note,
                )  # fmt: skip
    if experiment.judge == "welch":
        _welch(experiment, samples, cells)
    return cells


def _emulated_alone(experiment: Experiment, row: str, column: Column, mean: float) -> dict[str, Any]:
    """A cell without a simulated side, which is not judged."""
    found = cell(experiment, row, column, Sample())
    printed = found["published"]
    ratio = None if not printed or math.isnan(mean) else mean / printed
    nothing = dict.fromkeys(("verdict", "verdict_print", "verdict_ns2", "distance", "note"))
    return {**found, **nothing, "ratio": ratio, "ratio_over": None if ratio is None else "print"}


def _welch(experiment: Experiment, samples: Samples, cells: list[dict[str, Any]]) -> None:
    """Welch's comparison of two means for each cell, corrected over the table after Holm. The
    correction is for `disagrees` alone: with it a larger table would agree more easily."""
    judged = []
    for one in cells:
        theirs = experiment.ns2.seeds.get((one["row"], one["column"])) if experiment.ns2 else None
        ours = samples.get((one["row"], one["column"]))
        if not theirs or ours is None:
            continue
        few = min(len(theirs), len(ours.values)) < FEWEST_RUNS or len(ours.values) < ours.runs
        compared = None if few else welch(theirs, ours.values, ALPHA)
        one["verdict_ns2"] = one["verdict"] = "undetermined"
        if compared is None:
            one["note"] = f"fewer than {FEWEST_RUNS} seeds, or runs without a value"
        else:
            judged.append((one, compared))
    for (one, compared), apart in zip(judged, holm([compared.p for _, compared in judged], ALPHA)):
        word = of_welch(compared, apart)
        one.update(difference=compared.half_width, distance=abs(compared.ratio - 1.0) / CLOSE)
        one.update(verdict_ns2=word, verdict=of_both(None, word))
        if word == "undetermined":
            one["note"] = "the interval of the difference is too wide"


def of_welch(compared: Welch, apart: bool) -> str:
    """The verdict on two means, which Holm's procedure holds `apart` or not."""
    difference = abs(compared.ratio - 1.0)
    if difference + compared.half_width <= EQUIVALENT:
        return "agrees"
    return "disagrees" if apart and difference > CLOSE else "undetermined"


def _tally(cells: Sequence[dict[str, Any]], claims: Sequence[dict[str, Any]]) -> dict[str, Any]:
    def count(words: Any) -> dict[str, int]:
        found = Counter(words)
        pairs = (("agree", "agrees"), ("disagree", "disagrees"), ("undetermined", "undetermined"))
        return {name: found[word] for name, word in pairs}

    def of_claims(is_of: Callable[[dict[str, Any]], bool]) -> dict[str, int]:
        ours = [one for one in claims if one["undecidable"] is None and is_of(one)]
        return {"held": sum(one["holds"] is True for one in ours), "of": len(ours)}

    informative = [one for one in cells if one["verdict"] not in (None, "uninformative")]
    ratio, of = None, None
    for over in ("print", "ns2"):
        ratios = [one["ratio"] for one in informative if one["ratio_over"] == over and one["ratio"] is not None]
        if ratios and ratio is None:
            ratio, of = float(np.median(ratios)), over
    return {
        "print": count(one["verdict_print"] for one in cells),
        "ns2": count(one["verdict_ns2"] for one in cells),
        "ns2_alone": count(one["verdict_ns2"] for one in cells if one["verdict_print"] is None),
        "uninformative": sum(one["verdict"] == "uninformative" for one in cells),
        "claims_held": sum(one["holds"] is True for one in claims),
        "claims": sum(one["undecidable"] is None for one in claims),
        # A table that cannot decide leaves the sentence of the print standing.
        "claims_of_print": of_claims(lambda one: one["holds_in_source"] is not False),
        "claims_of_ns2": of_claims(lambda one: one["holds_in_ns2"] is True),
        "median_ratio": ratio, "median_ratio_over": of,
    }  # fmt: skip


def of_counts(cells: dict[str, int], claims: dict[str, int]) -> Optional[str]:
    """The verdict against one reference: nine tenths of the cells must agree and all of its claims
    hold. None if there is neither a cell nor a claim."""
    counted = sum(cells.values())
    if not counted and not claims["of"]:
        return None
    if claims["held"] < claims["of"] or cells["disagree"] > (1.0 - ENOUGH + 1e-9) * counted:
        return "disagrees"
    return "agrees" if cells["agree"] >= (ENOUGH - 1e-9) * counted else "undetermined"


def _reason(tally: dict[str, Any], seeds: Optional[str]) -> str:
    parts = []
    for name, word in (("print", "print"), ("ns2", "ns-2")):
        cells, claims = tally[name], tally[f"claims_of_{name}"]
        some = []
        if sum(cells.values()):
            some.append(
                f"{cells['agree']} of {sum(cells.values())} cells agree, "
                f"{cells['disagree']} disagree, {cells['undetermined']} undetermined"
            )
        if claims["of"]:
            some.append(f"{claims['held']} of {claims['of']} claims hold")
        parts += [f"{word}: {', '.join(some)}"] if some else []
    parts += [f"{tally['uninformative']} cells are uninformative"] if tally["uninformative"] else []
    return "; ".join([*parts, *([seeds] if seeds else [])])


def _variants(experiment: Experiment, measured: Measured) -> list[dict[str, Any]]:
    found = []
    for variant in experiment.variants:
        if variant.name not in measured.variants:
            continue
        unchanged = measured.profiles.get(variant.profile, {})
        cells = []
        for (row, column), sample in measured.variants[variant.name].items():
            ours = estimate(sample.values)
            before = estimate(unchanged[row, column].values).mean if (row, column) in unchanged else math.nan
            printed = experiment.published.get(row, column)
            base = printed if printed is not None else experiment.ns2.get(row, column) if experiment.ns2 else None
            ratio = ours.mean / base if base else math.nan
            cells.append({
                "row": row, "column": column, "measured": _none(ours.mean), "ci95": _none(ours.ci95),
                "to_unchanged": _none(ours.mean / before if before else math.nan), "ratio": _none(ratio),
                "ratio_over": None if math.isnan(ratio) else "print" if printed is not None else "ns2",
            })  # fmt: skip
        found.append({
            "name": variant.name, "about": variant.about, "set": list(variant.set), "profile": variant.profile,
            "runs": variant.runs, "cells": cells,
        })  # fmt: skip
    return found


def _none(x: float) -> Optional[float]:
    return None if math.isnan(x) else x


def more_seeds(
    experiment: Experiment,
    rule: SeedRule,
    points: Sequence[Any],
) -> None:
    """Gives more seeds to the points of one part that are not finished, as far as the caps allow. A
    point has `seeds`, `cap`, the values and hops of each run, `done`, and `samples()`."""
    wide, open_, spent_in_all, hops = [], [], 0.0, 0.0
    for point in points:
        spent = float(sum(hops for _, hops in point.done))
        spent_in_all, hops = spent_in_all + spent, hops + spent
        samples = list(point.samples())
        if point.seeds < rule.open_seeds and any(is_open(experiment, *one) for one in samples):
            open_.append((point, rule.open_seeds, spent * (rule.open_seeds / point.seeds - 1.0)))
        if point.cap is None and not all(
            is_finished(experiment, row, column, sample, rule) for row, column, sample in samples
        ):
            if point.seeds >= rule.most:
                point.cap = "seeds"
            else:
                more = min(point.seeds * 2, rule.most)
                hops += spent * (more / point.seeds - 1.0)
                wide.append((point, more))
    if hops > rule.hops:
        for point, _ in wide:
            point.cap = "hops"
        wide = []
    if not wide:
        # The steps by width are over.
        with_it = spent_in_all + sum(more for *_, more in open_)
        wide = [(point, seeds) for point, seeds, _ in open_] if with_it <= rule.open_hops else []
    for point, seeds in wide:
        point.seeds = seeds
