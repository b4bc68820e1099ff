# Installing: headers, libraries, the command, and a package for find_package(forebay).
include(GNUInstallDirs)
