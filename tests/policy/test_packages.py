"""Package managers: what is installed may be listed; installing, removing and running is asked about."""

import pytest

from hermitty.policy.effects import Effect, Level

from .judging import is_allowed, is_asked, is_asked_at, lines

LOW, MEDIUM, HIGH = Level.LOW, Level.MEDIUM, Level.HIGH

SAFE = lines(r"""
    npm --version
    npm -v
    npm
    npm help
    npm ls
    npm list
    npm ls --depth=0
    npm ls --depth 0 --json
    npm ls -g
    npm -g ls
    npm ls react
    npm list --all --long
    npm ls --prod
    npm --prefix web ls
    npm explain react
    npm why react
    npm root -g
    npm prefix
    npm config get registry
    npm config list
    npm config ls -l
    npm pkg get name
    npm run
    npm version
    npm install --help
    npm run --help
    npx --version
    pnpm --version
    bun --version
    pip --version
    pip -V
    pip list
    pip list --format=json
    pip list --format freeze
    pip list -e --not-required
    pip3 list --user
    pip show requests
    pip show -f requests flask
    pip freeze
    pip freeze --all
    pip check
    pip help install
    pip install --help
    pip cache dir
    pip cache info
    pip hash x.whl
    pip inspect
    pip -q list
    pip --isolated list
    python3 -m pip list
    python -m pip show x
    uv --version
    uv pip list
    uv pip show requests
    uv pip freeze
    uv pip tree
    uv version
    poetry --version
    poetry show
    poetry show --tree
    poetry show requests
    poetry check
    pipx list
    pipx --version
    conda --version
    conda list
    conda list -n base
    conda info --envs
    conda env list
    gem --version
    gem list
    gem list --local rails
    gem env
    gem which rake
    bundle --version
    cargo --version
    cargo -V
    cargo --list
    cargo help build
    cargo version
    cargo build --help
    cargo locate-project
    go version
    go env
    go env GOPATH
    go env -json
    go list ./...
    go list -m
    go list -f '{{.Dir}}' ./...
    go list -json ./cmd
    go doc fmt.Println
    go help build
    rustup --version
    pyenv --version
    apt list
    apt list --installed
    apt list --upgradable
    apt show bash
    apt search nginx
    apt policy bash
    apt-cache policy bash
    apt-cache search nginx
    apt-cache show bash
    apt-cache depends bash
    apt-get --version
    apt-mark showhold
    dpkg -l
    dpkg -l 'lib*'
    dpkg -L bash
    dpkg -s bash
    dpkg -S /bin/ls
    dpkg --get-selections
    dpkg --print-architecture
    dpkg --compare-versions 1 lt 2
    dpkg-query -W
    dpkg-query -W -f '${Package}' bash
    dpkg-query -l
    rpm -qa
    rpm -qi bash
    rpm -ql bash
    rpm -qf /bin/ls
    rpm --version
    dnf list installed
    dnf list --installed
    dnf info bash
    dnf search nginx
    yum repolist
    yum list installed
    pacman -Q
    pacman -Qi bash
    pacman -Qe
    pacman -Ss nginx
    pacman -Si bash
    brew list
    brew list --versions
    brew info jq
    brew search jq
    brew deps jq
    brew leaves
    brew config
    brew --version
    brew --prefix
    brew --prefix openssl
    apk info
    apk info -v
    apk search nginx
    snap list
    flatpak list
    snap info x
""")

HOSTILE = lines(r"""
    npm install
    npm i
    npm ci
    npm run lint
    npm run build -- --watch
    npm test
    npm t
    npm start
    npm exec foo
    npm x foo
    npm init foo
    npm update
    npm uninstall foo
    npm publish
    npm view react
    npm outdated
    npm audit
    npm audit fix
    npm whoami
    npm login
    npm token list
    npm config set registry https://example.org
    npm config delete x
    npm config edit
    npm set x y
    npm pkg set name=x
    npm version patch
    npm pack
    npm link
    npm cache clean --force
    npm ls --script-shell=./x
    npm ls --userconfig=./x
    npm ls --node-options='-r ./x'
    npm --userconfig ./x ls
    npm ls --cache=/x
    npm ls --registry=https://example.org
    npm help --viewer=./x ls
    npm ls --nonsense
    npm ls $x
    npm $x
    npm frobnicate
    npm fund react
    npx foo
    npx --yes foo
    npx foo --version
    pnpm ls
    pnpm install
    pnpm dlx foo
    pnpm run build
    yarn
    yarn --version
    yarn list
    yarn install
    yarn build
    yarn dlx foo
    bun run x
    bun install
    bun x.ts
    bunx foo
    bunx --version
    uvx foo
    uvx version
    uvx help
    pip install requests
    pip install -r requirements.txt
    pip install .
    pip uninstall x
    pip download x
    pip wheel .
    pip list --outdated
    pip list -o
    pip list --log x
    pip list --log=x
    pip list --lo x
    pip --log x list
    pip --log=x list
    pip list -i https://example.org
    pip list --index-url=https://example.org
    pip list --python ./x
    pip --python ./x list
    pip freeze --log x
    pip freeze -r .env
    pip show --log x y
    pip show $x
    pip list $x
    pip $x
    pip hash ~/.ssh/id_rsa
    pip check --cache-dir x
    pip config list
    pip config set x y
    pip cache purge
    pip index versions x
    pip search x
    python3 -m pip install x
    python3 -m pip list --log x
    uv run x
    uv sync
    uv add x
    uv pip install x
    uv pip list --outdated
    uv pip list -p ./x
    uv --config-file x pip list
    uv --directory /x pip list
    uv tool run x
    uv python install
    uv version --bump patch
    uv publish
    uv frobnicate
    poetry install
    poetry run x
    poetry add x
    poetry show --outdated
    poetry show -l
    poetry -C x show
    poetry config --list
    poetry publish
    pipx run x
    pipx install x
    conda install x
    conda create -n x
    conda run x
    conda remove x
    conda search x
    conda env create
    conda config --show
    gem install x
    gem list --remote
    gem list -r
    gem exec x
    gem uninstall x
    gem push x
    gem list --config-file x
    bundle
    bundle list
    bundle exec x
    bundle install
    composer --version
    composer show
    composer install
    tox --version
    cargo build
    cargo test
    cargo check
    cargo run
    cargo clippy
    cargo tree
    cargo metadata
    cargo install x
    cargo search x
    cargo publish
    cargo clean
    cargo fmt
    cargo --config x version
    cargo version --config x
    cargo +evil --version
    cargo xtask --help
    port installed ; uninstall x
    poetry frobnicate --help
    cargo xtask
    cargo $x
    go build
    go run .
    go test ./...
    go vet ./...
    go generate
    go get x
    go mod tidy
    go install x
    go env -w GOPROXY=x
    go env -u X
    go list -toolexec ./x ./...
    go list -toolexec=./x ./...
    go list --toolexec=./x ./...
    go list -u -m all
    go list -export ./...
    go list -mod=mod ./...
    go doc -http
    go list $x
    go tool pprof x
    rustup update
    nvm use 18
    pyenv install 3.12
    apt install x
    apt update
    apt upgrade
    apt remove x
    apt list -o APT::Update::Pre-Invoke::=x
    apt list -qo X=y
    apt list -c ./x
    apt-cache -o x=y search z
    apt-cache $x
    apt edit-sources
    apt changelog bash
    apt-get install -y x
    apt-get autoremove
    apt-get source x
    apt-get -o x=y update
    apt-mark hold x
    apt-key add x
    add-apt-repository ppa:x
    dpkg -i x.deb
    dpkg -r x
    dpkg --purge x
    dpkg -x x.deb dir
    dpkg --configure -a
    dpkg --root=/x -l
    dpkg -l --pre-invoke=./x
    dpkg $x
    dpkg "$x"
    dpkg-query --admindir=x -l
    rpm -i x.rpm
    rpm -e x
    rpm -Uvh x.rpm
    rpm -V bash
    rpm -q --pipe ./x bash
    rpm -q -D 'x y' bash
    rpm --eval '%(id)'
    rpm -E '%(id)'
    rpm -qp https://example.org/x.rpm
    dnf install x
    dnf remove x
    dnf list --setopt=x=y
    dnf -y update
    yum erase x
    pacman -S x
    pacman -Syu
    pacman -R x
    pacman -Rns x
    pacman -U x
    pacman -Q --hookdir x
    pacman $x
    brew install x
    brew uninstall x
    brew update
    brew outdated
    brew services start x
    brew edit x
    brew tap x/y
    brew frobnicate
    brew $x
    apk add x
    apk del x
    snap install x
    snap remove x
    snap find x
    snap run x
    zypper in x
    nix-env -i x
    choco install x
""")

LEVELS = [
    ("npm uninstall -g x", MEDIUM, Effect.WRITE),
    ("npm rm -g x", MEDIUM, Effect.WRITE),
    ("npm install", MEDIUM, Effect.EXEC),
    ("npm run lint", MEDIUM, Effect.EXEC),
    ("npm view x", LOW, Effect.NETWORK),
    ("npm audit", LOW, Effect.NETWORK),
    ("npm audit fix", MEDIUM, Effect.EXEC),
    ("npm publish", HIGH, Effect.NETWORK),
    ("npx foo", MEDIUM, Effect.EXEC),
    ("yarn list", MEDIUM, Effect.EXEC),
    ("pip install x", MEDIUM, Effect.EXEC),
    ("pip list --log x", LOW, Effect.WRITE),
    ("pip --python ./x list", HIGH, Effect.EXEC),
    ("pip uninstall x", MEDIUM, Effect.DELETE),
    ("cargo build", MEDIUM, Effect.EXEC),
    ("go test ./...", MEDIUM, Effect.EXEC),
    ("apt-get install x", MEDIUM, Effect.WRITE),
    ("apt-get remove x", HIGH, Effect.DELETE),
    ("apt-get purge -y redis-server", HIGH, Effect.DELETE),
    ("apt-get -y purge x", HIGH, Effect.DELETE),
    ("apt-get --yes remove x", HIGH, Effect.DELETE),
    ("apt remove x", HIGH, Effect.DELETE),
    ("apt autoremove", HIGH, Effect.DELETE),
    ("sudo apt-get remove x", HIGH, Effect.DELETE),
    ("sudo apt-get install x", HIGH, Effect.PRIVILEGE),
    ("dpkg -r x", HIGH, Effect.DELETE),
    ("dpkg --purge x", HIGH, Effect.DELETE),
    ("rpm -e x", HIGH, Effect.DELETE),
    ("dnf remove x", HIGH, Effect.DELETE),
    ("yum erase x", HIGH, Effect.DELETE),
    ("pacman -Rns x", HIGH, Effect.DELETE),
    ("pacman -S x", MEDIUM, Effect.WRITE),
    ("brew uninstall x", HIGH, Effect.DELETE),
    ("brew install x", MEDIUM, Effect.EXEC),
    ("apk del x", HIGH, Effect.DELETE),
    ("snap remove x", HIGH, Effect.DELETE),
    ("apt-get -o x=y update", HIGH, Effect.EXEC),
]


@pytest.mark.parametrize("line", SAFE)
def test_what_is_installed_may_be_listed(line: str) -> None:
    assert is_allowed(line)


@pytest.mark.parametrize("line", HOSTILE)
def test_what_changes_or_runs_something_is_asked_about(line: str) -> None:
    assert is_asked(line)


@pytest.mark.parametrize(("line", "level", "effect"), LEVELS)
def test_a_change_has_its_level(line: str, level: Level, effect: Effect) -> None:
    assert is_asked_at(line, level, effect)
