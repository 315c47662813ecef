#!/usr/bin/env python3
"""The smoke job: do the process groups of a layout come up on these machines and move data correctly?

    smoke_job.py referee --plan PLAN [--events FILE] [--listen HOST:PORT] [--tether] -- LAUNCHER...
    smoke_job.py rank --plan PLAN
    smoke_job.py probe

`referee` starts LAUNCHER (torchrun, srun, ...), which in turn starts one `rank` process for each rank of the plan. The
referee stays outside the collectives, writes the event stream, and its exit status is the verdict. `probe` prints what
this interpreter can run, as one line of JSON.
"""
import argparse
import sys


def main(arguments):
    """Runs one of the subcommands and returns the exit status."""
    parser = argparse.ArgumentParser(prog="smoke_job.py", description="Smoke-test the process groups of a layout.")
    commands = parser.add_subparsers(dest="command", required=True)
    referee = commands.add_parser("referee", help="start the ranks, watch them and write the event stream")
    referee.add_argument("--plan", required=True, help="the plan, a JSON file")
    referee.add_argument("--events", default="-", help="where the event stream is appended; - is standard output")
    referee.add_argument("--listen", default="127.0.0.1:0", help="address on which ranks reach the referee")
    referee.add_argument("--tether", action="store_true", help="cancel the job when standard input closes")
    referee.add_argument("launcher", nargs="+", help="the command that starts the ranks, after --")
    rank = commands.add_parser("rank", help="be one rank; started by the launcher")
    rank.add_argument("--plan", required=True, help="the plan, a JSON file")
    commands.add_parser("probe", help="print what this interpreter can run")
    chosen = parser.parse_args(arguments)
    if chosen.command == "referee":
        import smoke_referee

        return smoke_referee.main(chosen)
    if chosen.command == "rank":
        import smoke_rank

        return smoke_rank.main(chosen.plan)
    import smoke_probe

    return smoke_probe.main()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
