# install.cmake — the program with its scenarios, and what plug-ins are built with: headers and
# libraries, found by find_package(ukemi) or pkg-config.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(installed_libraries base policies traces)
set(installed_headers "${CMAKE_INSTALL_INCLUDEDIR}/ukemi")
set(installed_package "${CMAKE_INSTALL_LIBDIR}/cmake/ukemi")

# What a plug-in needs: the functions are those of the program that loads it.
add_library(ukemi_headers INTERFACE)
target_link_libraries(ukemi_headers INTERFACE nlohmann_json::nlohmann_json)

foreach(name headers ${installed_libraries})
  set_target_properties(ukemi_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(ukemi_${name} INTERFACE "$<INSTALL_INTERFACE:${installed_headers}>")
  target_compile_features(ukemi_${name} INTERFACE cxx_std_20)
endforeach()
foreach(name ${installed_libraries})
  set_target_properties(ukemi_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  # Within a library its functions call each other as they do in a program.
  target_compile_options(ukemi_${name} PRIVATE -fno-semantic-interposition)
  install(DIRECTORY ${name} DESTINATION "${installed_headers}"
          FILES_MATCHING PATTERN "*.hpp" PATTERN "*.def")
endforeach()

list(TRANSFORM installed_libraries PREPEND ukemi_ OUTPUT_VARIABLE installed_targets)
install(TARGETS ukemi)
install(DIRECTORY scenarios/ DESTINATION "${CMAKE_INSTALL_DATADIR}/ukemi/scenarios"
        FILES_MATCHING PATTERN "*.json" PATTERN "*.jsonc" PATTERN "*.csv*" PATTERN "README.md"
        PATTERN "reader" EXCLUDE PATTERN "experiment" EXCLUDE PATTERN "optimum" EXCLUDE)

# Manual pages and completions, by the program itself: they say what its parser says.
file(STRINGS "${PROJECT_SOURCE_DIR}/cli/command_table.def" commands REGEX "^COMMAND\\(")
list(TRANSFORM commands REPLACE "^COMMAND\\(([a-z_]+),.*$" "\\1")
list(TRANSFORM commands REPLACE "_" "-")
install(CODE "
  function(write_from_ukemi path)
    set(file \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/\${path}\")
    get_filename_component(folder \"\${file}\" DIRECTORY)
    file(MAKE_DIRECTORY \"\${folder}\")
    execute_process(COMMAND \"$<TARGET_FILE:ukemi>\" \${ARGN} OUTPUT_FILE \"\${file}\"
                    COMMAND_ERROR_IS_FATAL ANY)
  endfunction()
  write_from_ukemi(${CMAKE_INSTALL_MANDIR}/man1/ukemi.1 man)
  foreach(command ${commands})
    write_from_ukemi(${CMAKE_INSTALL_MANDIR}/man1/ukemi-\${command}.1 man \${command})
  endforeach()
  write_from_ukemi(${CMAKE_INSTALL_DATADIR}/bash-completion/completions/ukemi completion bash)
  write_from_ukemi(${CMAKE_INSTALL_DATADIR}/zsh/site-functions/_ukemi completion zsh)
")
install(TARGETS ukemi_headers ${installed_targets} EXPORT ukemi)
install(EXPORT ukemi NAMESPACE ukemi:: DESTINATION "${installed_package}")

file(WRITE "${PROJECT_BINARY_DIR}/ukemi-config.cmake" [[
include(CMakeFindDependencyMacro)
foreach(package fmt nlohmann_json ZLIB Boost)
  find_dependency(${package})
endforeach()
include("${CMAKE_CURRENT_LIST_DIR}/ukemi.cmake")
]])
# Before 1.0 every minor version may change an interface.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/ukemi-config-version.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/ukemi-config.cmake"
              "${PROJECT_BINARY_DIR}/ukemi-config-version.cmake"
        DESTINATION "${installed_package}")

file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
file(WRITE "${PROJECT_BINARY_DIR}/ukemi.pc" "prefix=\${pcfiledir}/${up}
Name: ukemi
Description: ${PROJECT_DESCRIPTION}
Version: ${PROJECT_VERSION}
Requires: fmt zlib
Cflags: -I\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}/ukemi -std=c++20
Libs: -L\${prefix}/${CMAKE_INSTALL_LIBDIR} -lukemi_policies -lukemi_traces -lukemi_base
")
install(FILES "${PROJECT_BINARY_DIR}/ukemi.pc"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
