#!/bin/sh
# Makes the history that this example measures: Linux 6.1.192 as Debian has it, and the commits of patches/ on top, which
# are tagged v1 to v11 (v0 is what Debian has).
#
#   history.sh [TARBALL]
#
# TARBALL is the one of Debian's package linux-source-6.1; without it the package is fetched with apt. The repository is
# target/tbench-history/linux.git of this project, 0.3 GB, and is left as it is where it is there already. Everybody gets the
# same commits, to the last letter of their hashes.
set -eu
package=linux-source-6.1=6.1.192-2
here=$(cd "$(dirname "$0")" && pwd)
folder=$here/../../target/tbench-history
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
if [ -e "$folder/linux.git" ]; then
	echo "history.sh: $folder/linux.git is there already"
	exit
fi

work=$(mktemp -d "$folder/making.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

tarball=${1:+$(realpath "$1")}
cd "$work"
if [ -z "$tarball" ]; then
	apt-get download "$package"
	dpkg-deb --fsys-tarfile ./*.deb | tar x ./usr/src/linux-source-6.1.tar.xz
	rm ./*.deb
	tarball=$work/usr/src/linux-source-6.1.tar.xz
fi
mkdir tree
tar xf "$tarball" -C tree --strip-components 1
git init --quiet --bare --initial-branch=main linux.git

GIT_DIR=$work/linux.git GIT_WORK_TREE=$work/tree
GIT_COMMITTER_NAME=backsight GIT_COMMITTER_EMAIL=backsight@example.org
GIT_AUTHOR_NAME="Debian Kernel Team" GIT_AUTHOR_EMAIL=debian-kernel@lists.debian.org
GIT_AUTHOR_DATE=2026-03-01T10:00:00Z GIT_COMMITTER_DATE=2026-03-01T10:00:00Z
export GIT_DIR GIT_WORK_TREE GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE
export GIT_COMMITTER_DATE
# What a user's own settings say of lines' ends, names of files or signatures changes the commits.
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
git config gc.auto 0
git config core.bare false
cd tree
git add --all --force .
git commit --quiet --message "Linux 6.1.192, from Debian's package linux-source-6.1"
git tag v0
number=0
for patch in "$here"/patches/*.patch; do
	number=$((number + 1))
	git am --quiet --committer-date-is-author-date "$patch"
	git tag "v$number"
done
# One file in place of eighty thousand.
git repack -a -d --quiet --window=0
git config core.bare true
mv "$work/linux.git" "$folder/linux.git"
echo "history.sh: made $folder/linux.git, v0 to v$number"
