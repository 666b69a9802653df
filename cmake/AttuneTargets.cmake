# One way to declare a part, a program and a test, so that rules (warnings, include root, installation) hold everywhere.
include(GNUInstallDirs)
set_property(GLOBAL PROPERTY ATTUNE_PARTS "")

# attune_library(NAME SOURCES... DEPENDS public... [PRIVATE private...] [PCH headers...])
# The target is attune_<name>, alias attune::<name>. Includes are written from the root of the repository ("ps/core/server.h").
# A link-only program proves that the part links with nothing but its declared dependencies (tests/structure).
function(attune_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE;PCH" ${ARGN})
  add_library(attune_${name} STATIC ${ARG_SOURCES})
  add_library(attune::${name} ALIAS attune_${name})
  target_include_directories(attune_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>)
  target_link_libraries(attune_${name} PUBLIC ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE} $<BUILD_INTERFACE:attune_warnings>)
  if(ARG_PCH)
    target_precompile_headers(attune_${name} PRIVATE ${ARG_PCH})
  endif()
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

# attune_test(NAME SOURCES... LINKS... [TIER unit|simulation|local]): one GoogleTest program; ctest sees each test case.
function(attune_test name)
  cmake_parse_arguments(ARG "" "TIER" "SOURCES;LINKS" ${ARGN})
  if(NOT ARG_TIER)
    set(ARG_TIER unit)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${ARG_LINKS} GTest::gmock_main attune_warnings)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  add_test(NAME ${ARG_TIER}.${name} COMMAND ${name} --gtest_brief=1)
  set_tests_properties(${ARG_TIER}.${name} PROPERTIES LABELS ${ARG_TIER} TIMEOUT 300)
endfunction()
