"""The same without async: python examples/scripted.py"""

import hermitty.sync


def main() -> None:
    with hermitty.sync.open() as rt:
        result = rt.run("printf 'one\\ntwo\\n'; exit 3", shell="bash")
        print(result.exit_code, result.text.splitlines())


if __name__ == "__main__":
    main()
