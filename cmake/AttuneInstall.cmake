# The parameter-server library is consumable from another CMake project: find_package(attune) gives attune::ps.
include(CMakePackageConfigHelpers)
