# The target tfrc::tfrc: the shared library and its header, wherever the prefix was moved.
get_filename_component(tfrc_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET tfrc::tfrc)
  add_library(tfrc::tfrc SHARED IMPORTED)
  set_target_properties(tfrc::tfrc PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${tfrc_prefix}/include")
  if(WIN32)
    set_target_properties(tfrc::tfrc PROPERTIES
      IMPORTED_LOCATION "${tfrc_prefix}/bin/tfrc.dll"
      IMPORTED_IMPLIB "${tfrc_prefix}/lib/libtfrc.dll.a")
  else()
    set_target_properties(tfrc::tfrc PROPERTIES
      IMPORTED_LOCATION "${tfrc_prefix}/lib/libtfrc.so")
  endif()
endif()
unset(tfrc_prefix)
