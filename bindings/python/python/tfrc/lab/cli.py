"""`tfrc-lab`: lists, shows and runs experiments."""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

from .. import TfrcError, _native
from .._progress import bar
from . import emulated, figure, library, page, publish, runner, text
from .experiment import BadExperiment, Experiment
from .references import References
from .store import Store
from .tables import BadTable

# Something is wrong with the command or a file; an experiment that must agree does not; Ctrl-C.
WRONG, DISAGREES, INTERRUPTED = 2, 3, 130


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tfrc-lab", description="The experiments of the literature, run again.")
    parser.add_argument("--experiments", type=Path, metavar="DIR", help="where they are; else those of a checkout")
    commands = parser.add_subparsers(dest="command", required=True)
    listing = commands.add_parser("list", help="name the experiments")
    listing.add_argument("wanted", nargs="*", default=["all"], metavar="ID")
    listing.add_argument("--json", action="store_true")
    show = commands.add_parser("show", help="the whole scenarios and the printed values of one experiment")
    show.add_argument("id")
    show.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change the scenario shown")
    run = commands.add_parser("run", help="run experiments, by the beginnings of their ids; or all")
    run.add_argument("wanted", nargs="+", metavar="ID")
    run.add_argument("--quick", action="store_true", help="fewer runs, rows and seconds: no verdicts")
    run.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change every scenario")
    run.add_argument("--jobs", type=int, default=0, metavar="N", help="runs at once; 0 for one a processor")
    run.add_argument("--dask", metavar="ADDRESS", help="the scheduler of a cluster that does the runs")
    run.add_argument("--out", type=Path, metavar="DIR", help="write a page for each experiment, and figures")
    run.add_argument("--figure", type=Path, metavar="FILE", help="write the figure of one experiment: SVG, PDF or PNG")
    run.add_argument("--cache", type=Path, metavar="DIR", help="where runs are kept")
    run.add_argument("--no-cache", action="store_true", help="run everything again, and keep nothing")
    run.add_argument("--json", action="store_true", help="the results as a line of JSON")
    again = commands.add_parser("record", help="do the emulated runs of experiments, and write emulated.csv of each")
    again.add_argument("wanted", nargs="+", metavar="ID")
    again.add_argument("--jobs", type=int, default=1, metavar="N", help="runs at once")
    again.add_argument("--quick", action="store_true", help="one short run; printed, and not written")
    again.add_argument("--program", type=Path, metavar="FILE", help="the program tfrc; else that in PATH")
    again.add_argument("--cache", type=Path, metavar="DIR", help="where runs are kept")
    ns2 = commands.add_parser("reference", help="write every ns2.csv, or run ns-2 for what is missing of sets of runs")
    ns2.add_argument("names", nargs="*", metavar="NAME", help="a set of references.toml")
    ns2.add_argument("--where", action="append", default=[], metavar="KEY=VALUE", help="only runs with this key")
    ns2.add_argument("--seeds", type=int, metavar="N", help="the highest seed")
    ns2.add_argument("--minutes", type=float, default=float("inf"), metavar="N", help="begin no run later than this")
    pages = commands.add_parser("publish", help="write results into the pages and READMEs of the checkout")
    pages.add_argument("results", nargs="*", type=Path, metavar="FILE", help="results.json of runs; none to write anew")
    pages.add_argument("--cache", type=Path, metavar="DIR", help="where runs are kept")
    pages.add_argument("--changed-by", metavar="COMMIT", help="mark all that was not run as of before this commit")
    check = commands.add_parser("check", help="compare the pages with each other, and with some runs")
    check.add_argument("--sample", metavar="TEXT", help="run three experiments again, chosen by this text")
    return parser


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Runs the command; its exit status."""
    given = _arguments().parse_args(arguments)
    try:
        folder = library.root(given.experiments)
        commands = (_list, _show, _run, _record, _reference, _publish, _check)
        return {one.__name__[1:]: one for one in commands}[given.command](folder, given)
    except (BadExperiment, BadTable, TfrcError, FileNotFoundError) as error:
        print(f"error: {error}", file=sys.stderr)
        return WRONG
    except BrokenPipeError:
        return 0
    except KeyboardInterrupt:
        print("interrupted; the runs that were done are kept", file=sys.stderr)
        return INTERRUPTED


def _list(folder: Path, given: Any) -> int:
    found = library.load(folder, given.wanted)
    if given.json:
        print(json.dumps([{"id": one.id, "title": one.title, "source": one.source, "world": one.world} for one in found]))
    else:
        width = max((len(one.id) for one in found), default=0)
        print("\n".join(f"{one.id:<{width}}  {one.title}" for one in found))
    return 0


def _show(folder: Path, given: Any) -> int:
    [experiment] = library.load(folder, [given.id])[:1]
    print(f"{experiment.id} · {experiment.title}\n{experiment.source}\n")
    for plan in experiment.plans.values():
        own = experiment.row_names(plan.rows)
        row = next(one for one in experiment.published.rows if own is None or one.name in own)
        of_run = [*runner.origins(experiment, plan, "as-published", row)]
        _whole(f"run {plan.name}, row {row.name}", experiment, plan.scenario, of_run, given.set)
    if not experiment.plans and (experiment.folder / experiment.scenario).exists():
        origins = [(one, "experiment") for one in experiment.set]
        origins += [(one, "profile as-published") for one in experiment.profiles.get("as-published", ())]
        _whole("scenario", experiment, experiment.scenario, origins, given.set)
    print((experiment.folder / "published.csv").read_text(encoding="utf-8"))
    return 0


def _whole(
    about: str, experiment: Experiment, scenario: str, origins: Sequence[tuple[str, str]], more: Sequence[str]
) -> None:
    """Prints a scenario with its changes made; a comment names the origin of each changed value."""
    path = (experiment.folder / scenario).resolve()
    changes = [*origins, *((one, "--set") for one in more)]
    print(f"# {about}: {path}")
    for line, change in _native.whole(str(path), [one for one, _ in changes]):
        print(line if change is None else f"{line}  # {changes[change][1]}")
    print()


def _run(folder: Path, given: Any) -> int:
    experiments = [one for one in library.load(folder, given.wanted) if not one.long or given.quick or one.id in given.wanted]
    if given.figure is not None and figure.form_of(given.figure) and len(experiments) != 1:
        raise BadExperiment(f"--figure is for one experiment; these are {len(experiments)}")
    results = run(experiments, given)
    print(json.dumps(results) if given.json else text.document(results), end="\n" if given.json else "")
    if given.out is not None:
        page.write(experiments, results, given.out, Store(_cache(given)))
        print(f"wrote {given.out / 'index.html'}", file=sys.stderr)
    if given.figure is not None:
        figure.save(figure.of(experiments[0], results["experiments"][0], Store(_cache(given))), given.figure)
    failed = [one["id"] for one in results["experiments"] if one["must_agree"] and "agrees" not in one["verdict"].split("-")]
    if failed and not given.quick:
        print(f"error: must agree, and does not: {', '.join(failed)}", file=sys.stderr)
        return DISAGREES
    return 0


def _cache(given: Any) -> Optional[Path]:
    user = _native.user_cache()
    return None if getattr(given, "no_cache", False) else given.cache or (Path(user) if user else None)


def _record(folder: Path, given: Any) -> int:
    cache = _cache(given)
    for experiment in library.load(folder, given.wanted):
        with bar("auto", "run") as report:
            table = emulated.record(
                experiment, quick=given.quick, jobs=given.jobs, program=given.program, cache=cache, report=report
            )
        if given.quick:
            print(table, end="")
        else:
            (experiment.folder / "emulated.csv").write_text(table, encoding="utf-8")
            print(f"wrote {experiment.folder / 'emulated.csv'}", file=sys.stderr)
    return 0


def _reference(folder: Path, given: Any) -> int:
    plan = References(folder.parent)
    only = dict(one.partition("=")[::2] for one in given.where)
    for name in given.names:
        count = plan.fill(name, most=given.seeds, minutes=given.minutes, only=only)
        print(f"{name}: {count} runs", file=sys.stderr)
    for table in () if given.names else plan.tables:
        (folder / table["experiment"] / "ns2.csv").write_text(plan.table(table), encoding="utf-8")
    return 0


def _pages(folder: Path) -> publish.Pages:
    docs = folder.parent / "docs"
    if not docs.is_dir():
        raise BadExperiment(f"{folder.parent} is not a checkout: there is no {docs}")
    return publish.Pages.read(library.load(folder, ["all"]), docs)


def _publish(folder: Path, given: Any) -> int:
    pages = _pages(folder)
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in given.results]
    if any(one["quick"] for one in documents):
        raise BadExperiment("results of the quick form have no verdicts, and are not published")
    results = [result for one in documents for result in one["experiments"]]
    pages.renew(results, given.changed_by)
    # A README shows the picture that is there.
    for path, text_ in itertools.chain(publish.pictures(pages.experiments, results, Store(_cache(given))), pages.files()):
        if not path.exists() or path.read_text(encoding="utf-8") != text_:
            path.write_text(text_, encoding="utf-8")
            print(f"wrote {path}", file=sys.stderr)
    return 0


def _check(folder: Path, given: Any) -> int:
    pages = _pages(folder)
    wrong = [f"{path} is not what the results say" for path, text_ in pages.files() if path.read_text("utf-8") != text_]
    wrong += ["`tfrc-lab publish` writes them"] if wrong else []
    if given.sample is not None:
        chosen = publish.sample(pages, given.sample)
        print(f"running {', '.join(chosen)}", file=sys.stderr)
        wrong += publish.differences(pages, runner.run(library.load(folder, chosen))["experiments"])
    print("\n".join(f"error: {one}" for one in wrong), end="\n" if wrong else "", file=sys.stderr)
    return DISAGREES if wrong else 0


def run(experiments: Sequence[Experiment], given: Any) -> dict[str, Any]:
    """Runs experiments as the command line asks for it."""
    client = None
    if given.dask:
        from distributed import Client

        try:
            client = Client(given.dask, timeout=10)
        except (OSError, ValueError) as error:
            about = f"--dask {given.dask}: no scheduler answers there ({error}); start one with `dask scheduler`"
            raise BadExperiment(about) from None
    try:
        with bar("auto", "run") as report:
            how = {"quick": given.quick, "jobs": given.jobs, "cache": _cache(given), "client": client}
            return runner.run(experiments, **how, report=report, changes=given.set)
    finally:
        if client is not None:
            client.close()


if __name__ == "__main__":
    sys.exit(main())
