# One way to declare a part, a program and a test, so that rules (warnings, include root, installation) hold everywhere.
include(GNUInstallDirs)
set_property(GLOBAL PROPERTY ATTUNE_PARTS "")

# Puts a target into the package that training programs find (find_package(attune)): the parameter server and what it knows. The
# control plane is programs only.
function(attune_export name)
  if(NOT name MATCHES "^(base|grpc_port|proto|ps|ps_.*|sha256)$")
    return()
  endif()
  set_target_properties(attune_${name} PROPERTIES EXPORT_NAME ${name})
  install(TARGETS attune_${name} EXPORT attune-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
endfunction()

# The package itself, once all its targets are known.
function(attune_install_package)
  include(CMakePackageConfigHelpers)
  set(directory "${CMAKE_INSTALL_LIBDIR}/cmake/attune")
  configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/attune-config.cmake.in"
    "${PROJECT_BINARY_DIR}/generated/attune-config.cmake" INSTALL_DESTINATION "${directory}")
  write_basic_package_version_file("${PROJECT_BINARY_DIR}/generated/attune-config-version.cmake" COMPATIBILITY SameMinorVersion)
  install(FILES "${PROJECT_BINARY_DIR}/generated/attune-config.cmake" "${PROJECT_BINARY_DIR}/generated/attune-config-version.cmake"
    DESTINATION "${directory}" COMPONENT development)
  install(EXPORT attune-targets NAMESPACE attune:: DESTINATION "${directory}" COMPONENT development)
  # The public headers, the values of tables that they name, and the two of base/ that they include.
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/ps/include/" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/ps/types/" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/attune/ps/types COMPONENT development)
  install(FILES "${PROJECT_SOURCE_DIR}/base/status.h" "${PROJECT_SOURCE_DIR}/base/time_source.h"
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/attune/base COMPONENT development)
endfunction()

# attune_library(NAME SOURCES... DEPENDS public... [PRIVATE private...])
# The target is attune_<name>, alias attune::<name>. Includes are written from the root of the repository ("ps/core/server.h").
# A link-only program proves that the part links with nothing but its declared dependencies (tests/structure).
function(attune_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE" ${ARGN})
  add_library(attune_${name} STATIC ${ARG_SOURCES})
  add_library(attune::${name} ALIAS attune_${name})
  target_include_directories(attune_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/attune>)
  target_link_libraries(attune_${name} PUBLIC ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE} $<BUILD_INTERFACE:attune_warnings>)
  attune_export(${name})
  set_property(GLOBAL APPEND PROPERTY ATTUNE_PARTS ${name})
endfunction()

# attune_program(NAME SOURCES... LINKS...): an installed executable.
function(attune_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINKS} attune_warnings)
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# Tests are compiled once and run for seconds: a release builds them with less optimization, which takes a fifth less. What they test keeps its own.
set(ATTUNE_TEST_OPTIMIZATION $<$<CONFIG:Release>:-O1>)

# attune_test(NAME SOURCES... LINKS... [TIER unit|simulation|local]): one GoogleTest program; ctest sees each test case.
function(attune_test name)
  cmake_parse_arguments(ARG "" "TIER" "SOURCES;LINKS" ${ARGN})
  if(NOT ARG_TIER)
    set(ARG_TIER unit)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${ARG_LINKS} GTest::gmock_main attune_warnings)
  target_compile_options(${name} PRIVATE ${ATTUNE_TEST_OPTIMIZATION})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  if(ARG_TIER STREQUAL "local")
    add_test(NAME local.${name} COMMAND ${name})  # minutes: what ran is told even when time is up
  else()
    add_test(NAME ${ARG_TIER}.${name} COMMAND ${name} --gtest_brief=1)
  endif()
  set_tests_properties(${ARG_TIER}.${name} PROPERTIES LABELS ${ARG_TIER} TIMEOUT 600)
  if(ARG_TIER STREQUAL "unit")
    set_property(GLOBAL APPEND PROPERTY ATTUNE_UNIT_TESTS ${name})
  endif()
  if(ATTUNE_SANITIZE)
    set_tests_properties(${ARG_TIER}.${name} PROPERTIES TIMEOUT 3600)  # the thread sanitizer makes some 20 times as slow
    set(suppressions "${PROJECT_SOURCE_DIR}/tests/sanitizer-suppressions")  # its README says what may be listed
    set_tests_properties(${ARG_TIER}.${name} PROPERTIES ENVIRONMENT
      "TSAN_OPTIONS=suppressions=${suppressions}/thread.txt:history_size=7:ignore_noninstrumented_modules=1;LSAN_OPTIONS=suppressions=${suppressions}/leak.txt;UBSAN_OPTIONS=suppressions=${suppressions}/undefined.txt:print_stacktrace=1")
  endif()
endfunction()

# attune_knows_directories(SOURCES...): these files of this directory, and no others, know where checkout and build are. A whole target
# that knew would be compiled again in each checkout, because the compiler cache compares what the compiler is given.
function(attune_knows_directories)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_DEFINITIONS
    "ATTUNE_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\";ATTUNE_BINARY_DIR=\"${PROJECT_BINARY_DIR}\"")
endfunction()

# attune_optimize(OPTIONS... FILES source...): files of this directory with options of their own; each is compiled by itself.
function(attune_optimize)
  cmake_parse_arguments(ARG "" "" "FILES" ${ARGN})
  set_source_files_properties(${ARG_FILES} PROPERTIES COMPILE_OPTIONS "${ARG_UNPARSED_ARGUMENTS}")
endfunction()

# attune_fuzzer(NAME SOURCES... [LINKS...] [MUST_FAIL]): a fuzz target (tests/fuzz/fuzz_driver.h); the unit tier runs some thousand
# inputs, and those of NAME.corpus. With MUST_FAIL its test passes when the driver finds a crash.
function(attune_fuzzer name)
  cmake_parse_arguments(ARG "MUST_FAIL" "" "SOURCES;LINKS" ${ARGN})
  if(NOT TARGET attune_fuzz_driver)
    add_library(attune_fuzz_driver OBJECT "${PROJECT_SOURCE_DIR}/tests/fuzz/fuzz_driver.cpp")
    target_include_directories(attune_fuzz_driver PRIVATE "${PROJECT_SOURCE_DIR}")
    target_link_libraries(attune_fuzz_driver PUBLIC attune::base PRIVATE attune_warnings)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE attune_fuzz_driver ${ARG_LINKS} attune_warnings)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  if(NOT ARG_MUST_FAIL)
    set_property(GLOBAL APPEND PROPERTY ATTUNE_FUZZERS ${name})
  endif()
  set(corpus "${CMAKE_CURRENT_SOURCE_DIR}/${name}.corpus")  # inputs that were findings once
  set(with_corpus)
  if(IS_DIRECTORY "${corpus}")
    set(with_corpus --corpus "${corpus}")
  endif()
  if(ARG_MUST_FAIL)
    add_test(NAME unit.${name} COMMAND sh -c "! \"$0\"" $<TARGET_FILE:${name}>)
  else()
    add_test(NAME unit.${name} COMMAND ${name} ${with_corpus})
  endif()
  set_tests_properties(unit.${name} PROPERTIES LABELS unit TIMEOUT 300)
  set_property(GLOBAL APPEND PROPERTY ATTUNE_UNIT_TESTS ${name})
  if(ATTUNE_SANITIZE)
    set_tests_properties(unit.${name} PROPERTIES TIMEOUT 3600)
  endif()
endfunction()
