# Language level, warnings, sanitizers and build-wide choices. Set from presets (CMakePresets.json), rarely by hand.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")

option(ATTUNE_BUILD_TESTS "Build the unit, simulation and local tests" ON)
option(ATTUNE_BUILD_BENCH "Build the benchmarks" ON)
set(ATTUNE_SANITIZE "" CACHE STRING "Sanitizers for every target, e.g. address,undefined or thread")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
# -g1 keeps function names and lines for stack traces and profilers at a small cost in build time.
# Rooms with inner loops over rows (ps/store, examples) ask for -O3 themselves.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")
if(NOT ATTUNE_SANITIZE)  # the presets of the sanitizers have flags of their own: at -O0 they are too slow for the long tests
  set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # base_dir lets checkouts at different paths share results.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND};-E;env;CCACHE_BASEDIR=${PROJECT_SOURCE_DIR};CCACHE_NOHASHDIR=1;${CCACHE_PROGRAM}")
endif()

# Sources are named from the root of the repository in messages, whether a group or the command line names the file: programs hold no path
# of the machine that built them, and checkouts at different paths share compiled groups.
add_compile_options("-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=")

# Most of a compilation is the foreign headers, so files of a target are compiled together: a clean build takes less than half of the time and one
# compilation up to 1 GB. Names in unnamed namespaces are then seen by the other files of the group; a test therefore has a namespace named
# after its file. Off, every file is compiled by itself: scripts/lint reads its commands so, and the debug preset builds so, which shows
# a file that lacks an include.
option(ATTUNE_UNITY "Compile the files of a target in groups" ON)
set(CMAKE_UNITY_BUILD ${ATTUNE_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 16 CACHE STRING "Files in a group")

# With more room for its garbage g++ collects it less often and takes a tenth less.
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=1048576>)

# Warnings are errors for our own code in every preset; generated code switches them off target by target.
add_library(attune_warnings INTERFACE)
target_compile_options(attune_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Werror -Wnon-virtual-dtor -Woverloaded-virtual -Wno-missing-field-initializers
  # g++ 12 reports overlaps, overflows and reads beyond the end in inlined std::string code that are not there (GCC bugs 105651,
  # 105329, 105762), the last one depending on the length of constants such as the checkout's path.
  -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds)

if(ATTUNE_SANITIZE)
  # Checks between a test and a use hide from g++ that they belong together.
  add_compile_options(-fsanitize=${ATTUNE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -Wno-maybe-uninitialized)
  add_link_options(-fsanitize=${ATTUNE_SANITIZE})
  if(ATTUNE_SANITIZE MATCHES "thread")
    # The thread sanitizer does not understand fences. Asio's are not needed: its queues hand handlers over under a mutex.
    add_compile_definitions(BOOST_ASIO_DISABLE_FENCED_BLOCK)
    # A class of protobuf's headers (MapFieldBase) has two more fields under the compiler's own macro, and the library in the package,
    # built without it, reads other fields in their place. So the macro is gone, and this project's files look for the other one.
    add_compile_options(-U__SANITIZE_THREAD__)
    add_compile_definitions(ATTUNE_THREAD_SANITIZER)
  endif()
endif()
