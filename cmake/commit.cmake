# cmake -D SOURCE=FOLDER -D HEADER=FILE -P commit.cmake: writes which commit this is, with "-dirty"
# where its files differ. The header is written anew only if it says something else.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND git --no-optional-locks -C "${SOURCE}"
                        describe --always --dirty --abbrev=12 --exclude=*
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE
                RESULT_VARIABLE failed ERROR_QUIET)
if(NOT failed EQUAL 0)
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT "${HEADER}" CONTENT "#pragma once\n#define UKEMI_COMMIT \"@commit@\"\n" @ONLY)
