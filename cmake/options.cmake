# Compiler settings shared by every target.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

option(CORRAL_WERROR "Treat warnings as errors" OFF)
set(CORRAL_SANITIZE "" CACHE STRING "address (with undefined), thread, or empty")
set_property(CACHE CORRAL_SANITIZE PROPERTY STRINGS "" address thread)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_FLAGS_DEV "-O1 -g1")
# Small code matters more than unrolled loops: between two messages other processes fill the caches.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
  # GCC 12's false alarms about std::string (its bugs 105329 and 105651).
  add_compile_options(-Wno-restrict -Wno-stringop-overflow)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  # The precompiled CAF header would otherwise make every hit a miss.
  set(ENV{CCACHE_SLOPPINESS} pch_defines,time_macros)
endif()

add_compile_options(-Wall -Wextra -Wpedantic)
if(CORRAL_WERROR)
  add_compile_options(-Werror)
endif()

if(CORRAL_SANITIZE STREQUAL "address")
  # CAF builds handles from null references on purpose: null is not checked.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=null -fno-sanitize-recover=undefined
                      -fno-omit-frame-pointer)
  # GCC 12 takes the instrumented copy of an empty std::optional for a read of it.
  add_compile_options(-Wno-maybe-uninitialized)
  add_link_options(-fsanitize=address,undefined)
elseif(CORRAL_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
endif()

# A program that runs inside a sandbox: static, so that any root file system will do. A static
# program can't carry a sanitizer, so there it is linked dynamically.
function(corral_static_program target)
  if(NOT CORRAL_SANITIZE)
    target_link_options(${target} PRIVATE -static)
  endif()
endfunction()

# corral_tests(wire a_test.cpp b_test.cpp LIBS corral_wire): one program of doctest cases a folder.
function(corral_tests folder)
  cmake_parse_arguments(arg "" "" "LIBS" ${ARGN})
  add_executable(test_${folder} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(test_${folder} PRIVATE ${arg_LIBS} corral_test_main)
  add_test(NAME ${folder} COMMAND test_${folder})
  set_tests_properties(${folder} PROPERTIES TIMEOUT 300)
endfunction()
