# Writes OUTPUT from TEMPLATE: one line of C++ for each file of PAGES.
foreach(page ${PAGES})
  get_filename_component(slug ${page} NAME_WE)
  file(READ ${page} text)
  string(APPEND cases "  if (slug == \"${slug}\")\n    return R\"page(${text})page\";\n")
endforeach()
set(PAGES "${cases}")
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)
