# Drops from a lock what holds on every platform it is made for (`tool.uv.environments`
# in pyproject.toml): CPython on Linux, x86_64 or aarch64.
s/ and platform_python_implementation != 'PyPy'//g
s/ and sys_platform == 'linux'//g
s/implementation_name == 'cpython' and //
s/ \(and\|;\) ((platform_machine == 'aarch64') or (platform_machine == 'x86_64'))//
