# CPack runs this when a package's files lie in CPACK_TEMPORARY_DIRECTORY.
execute_process(COMMAND python3 ${CMAKE_CURRENT_LIST_DIR}/lay_out.py ${CPACK_TEMPORARY_DIRECTORY} ${CPACK_GENERATOR}
                        ${CPACK_PACKAGE_VERSION} "${CPACK_PACKAGE_CONTACT}"
                COMMAND_ERROR_IS_FATAL ANY)
