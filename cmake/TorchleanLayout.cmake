# Where things go: the build tree has the shape of the installed tree, and both can be moved.
include_guard(GLOBAL)

set(CMAKE_INSTALL_LIBDIR lib CACHE PATH "Library folder below the prefix")
include(GNUInstallDirs)

set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/archive)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

set(TORCHLEAN_BACKEND_INSTALL_DIR ${CMAKE_INSTALL_LIBDIR}/torchlean/backends)
set(TORCHLEAN_BACKEND_OUTPUT_DIR ${PROJECT_BINARY_DIR}/lib/torchlean/backends)

# One run path for both trees. It serves programs and libraries; backends set their own. CMake would
# otherwise pad the build tree's with colons, and an empty element means the current directory.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON) # for the tests, which are not installed
set(CMAKE_INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
