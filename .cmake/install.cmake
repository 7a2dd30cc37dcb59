# cmake --install, find_package(tally) and pkg-config. The package may be moved: each file in it finds the others from
# where it lies itself.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tally)

set_target_properties(tally_strict PROPERTIES EXPORT_NAME strict)
install(TARGETS tally tally_strict EXPORT tally-targets INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT tally-targets NAMESPACE tally:: DESTINATION ${package_dir})
foreach(folder core autograd ops nn)
  install(DIRECTORY ${folder}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tally/${folder}
          FILES_MATCHING PATTERN "*.h" PATTERN "*.cuh" PATTERN simt EXCLUDE PATTERN vendor EXCLUDE)
endforeach()
install(FILES ${PROJECT_BINARY_DIR}/umbrella/tally/tally.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tally)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# A static library leaves the libraries it needs to the program; a shared one has found its own.
set(dependencies "find_dependency(Threads)\n")
set(libraries -lz -pthread)
if(NOT BUILD_SHARED_LIBS)
  string(APPEND dependencies "find_dependency(ZLIB)\n")
endif()
if(TALLY_HAS_CUDA)
  # Not -pthread, which nvcc does not know.
  set(libraries -L${CUDAToolkit_LIBRARY_DIR} -lcublas -lcurand -lcudart_static -lz -lpthread -ldl -lrt)
  if(NOT BUILD_SHARED_LIBS)
    string(APPEND dependencies "find_dependency(CUDAToolkit ${CUDAToolkit_VERSION_MAJOR})\n")
  endif()
endif()
file(CONFIGURE OUTPUT package/tally-config.cmake @ONLY CONTENT [==[
# find_package(tally) gives the targets tally::tally and tally::strict, and says in tally_WITH_CUDA what they can do.
include(CMakeFindDependencyMacro)
@dependencies@set(tally_WITH_CUDA @TALLY_HAS_CUDA@)
include("${CMAKE_CURRENT_LIST_DIR}/tally-targets.cmake")
]==])
# Before 1.0 a minor version may change anything.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/tally-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/tally-config.cmake ${PROJECT_BINARY_DIR}/package/tally-config-version.cmake
        DESTINATION ${package_dir})

# pkg-config: with a static library, plain --libs is enough.
string(JOIN " " libraries ${libraries})
if(BUILD_SHARED_LIBS)
  set(public_libraries)
else()
  set(public_libraries " ${libraries}")
endif()
set(definitions)
if(TALLY_HAS_CUDA)
  set(definitions " -DTALLY_WITH_CUDA")
endif()
file(RELATIVE_PATH up ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" up ${up})
file(CONFIGURE OUTPUT package/tally.pc @ONLY CONTENT [==[
prefix=${pcfiledir}/@up@
includedir=${prefix}/@CMAKE_INSTALL_INCLUDEDIR@
libdir=${prefix}/@CMAKE_INSTALL_LIBDIR@

Name: tally
Description: @PROJECT_DESCRIPTION@
Version: @PROJECT_VERSION@
Cflags: -I${includedir}@definitions@
Libs: -L${libdir} -ltally@public_libraries@
Libs.private: @libraries@
]==])
install(FILES ${PROJECT_BINARY_DIR}/package/tally.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
