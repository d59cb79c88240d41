#!/usr/bin/env bash
# site.sh — the pages of this repository as a site in build/docs/site. `./dev docs` builds the
# program first, from which the reference pages come.
#
# usage: docs/site.sh PROGRAM
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
ukemi=$(realpath "${1:?usage: docs/site.sh PROGRAM}")
pages=build/docs/pages

# The tree as it is, so that each link finds its file; recorded data and tests only weigh.
rm -rf build/docs
mkdir -p "$pages/reference"
git ls-files -co --exclude-standard -z -- . ':!tests' ':!docs/mkdocs.yml' |
    xargs -0 cp --parents -t "$pages"
git ls-files -z -- 'tests/*.md' 'tests/*.sh' 'tests/*.hpp' 'tests/*.cpp' |
    xargs -0 cp --parents -t "$pages"

# block COMMAND…: what it prints, under its own line
block() {
    printf '\n```\n'
    "$ukemi" "$@" | sed 's/[[:space:]]*$//'
    printf '```\n'
}

{
    printf '# Commands\n\nEach as `ukemi COMMAND --help` prints it; `ukemi man COMMAND` has it as a manual page.\n'
    block --help
    "$ukemi" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p' |
        while IFS= read -r command; do
            printf '\n## ukemi %s\n' "$command"
            block "$command" --help
        done
} >"$pages/reference/commands.md"
{
    printf '# What there is to name\n\nPolicies, codecs, machines and the like, as `ukemi list KIND` prints them.\n'
    "$ukemi" list | sed -n 's/^\([a-z]*\) .*/\1/p' | while IFS= read -r kind; do
        printf '\n## ukemi list %s\n' "$kind"
        block list "$kind"
    done
} >"$pages/reference/names.md"

mkdocs build --strict --quiet --config-file docs/mkdocs.yml
echo "build/docs/site/index.html"
