#!/usr/bin/env bash
# Makes the packages out of preset portable: packaging/build.sh [FOLDER], by default build/packages.
#
# Needs what the build needs (cmake/install_dependencies.sh); brings the root file system and Python's packaging tools itself.
# PyTorch's operators are compiled where tests/torch_cuda/environment.sh has installed the newest PyTorch that is tested.
# Prints the path of each.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=${1:-build/packages}
tools=(wheel==0.47.0 auditwheel==6.8.2)

[ -x .venv/bin/python ] || /usr/bin/python3 -m venv .venv
bash packaging/root.sh >&2
if [ "$(cat .venv/packaging-tools 2>/dev/null)" != "${tools[*]}" ]; then
  .venv/bin/python -m pip --quiet --disable-pip-version-check install "${tools[@]}" >&2
  echo "${tools[*]}" >.venv/packaging-tools
fi
cmake --preset portable >&2
cmake --build --preset portable --parallel "$(nproc)" >&2
rm -rf build/portable/operators
if pytorch=$(bash tests/torch_cuda/environment.sh --find); then
  "$pytorch/bin/python" packaging/operators.py build/portable >&2
else
  echo "warning: the packages carry no compiled operators: tests/torch_cuda/environment.sh installs the PyTorch for them" >&2
fi
.venv/bin/python packaging/make_wheel.py build/portable "$folder"
/usr/bin/python3 packaging/stage_image.py build/portable "$folder/image"
for kind in DEB RPM; do
  cpack -G $kind --config build/portable/CPackConfig.cmake -B build/portable/packages >&2
done
rm -f "$folder"/*.deb "$folder"/*.rpm
mv -v build/portable/packages/*.{deb,rpm} "$folder" | sed "s/.* -> '\(.*\)'/\1/"
