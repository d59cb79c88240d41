# The least compute capability that code for these architectures runs on (90 for 100-real;90), below
# which a program refuses to begin; 0 where they are not numbers.
function(ukemi_least_architecture into architectures)
  set(least 0)
  foreach(architecture ${architectures})
    string(REGEX MATCH "^[0-9]+" number "${architecture}")
    if(number AND (least EQUAL 0 OR number LESS least))
      set(least ${number})
    endif()
  endforeach()
  set(${into} ${least} PARENT_SCOPE)
endfunction()
