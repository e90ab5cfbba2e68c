# Puts traffic control into nr-softmodem: sources, library, and the functions that the linker wraps.
# OAI's files stay as they are; its CMake reads this file at the end of project():
#
#   -DCMAKE_PROJECT_OpenAirInterface_INCLUDE=<this file> -DSOJOURN_PREFIX=<prefix>
#
# SOJOURN_PREFIX has include/sojourn_gnb.h and lib/libsojourn_gnb.a.
include_guard(GLOBAL)

set(SOJOURN_ADAPTER ${CMAKE_CURRENT_LIST_DIR})
set(SOJOURN_PREFIX "" CACHE PATH "Folder with include/sojourn_gnb.h and lib/libsojourn_gnb.a")
if(NOT EXISTS ${SOJOURN_PREFIX}/lib/libsojourn_gnb.a)
  message(FATAL_ERROR "no lib/libsojourn_gnb.a in SOJOURN_PREFIX (${SOJOURN_PREFIX})")
endif()

function(sojourn_wrap list)
  file(STRINGS ${SOJOURN_ADAPTER}/${list} names)
  foreach(name IN LISTS names)
    target_link_options(nr-softmodem PRIVATE LINKER:--wrap=${name})
  endforeach()
endfunction()

# Deferred to the end of OAI's own file, where its targets are.
function(sojourn_into_gnb)
  list(TRANSFORM SOJOURN_SOURCES PREPEND ${SOJOURN_ADAPTER}/)
  target_sources(nr-softmodem PRIVATE ${SOJOURN_SOURCES})
  target_include_directories(nr-softmodem PRIVATE ${SOJOURN_PREFIX}/include)
  target_link_libraries(nr-softmodem PRIVATE ${SOJOURN_PREFIX}/lib/libsojourn_gnb.a dl m pthread)
  sojourn_wrap(wraps.txt)
  if(E2_AGENT)
    set(codec ${SOJOURN_ADAPTER}/../../../gateway/flexric/node)
    target_sources(nr-softmodem PRIVATE ${SOJOURN_ADAPTER}/e2_v0.c ${SOJOURN_ADAPTER}/e2_v1.c
                                        ${codec}/tc_control.c ${codec}/tc_report.c)
    target_include_directories(nr-softmodem PRIVATE ${codec} ${OPENAIR2_DIR}/E2AP/flexric/src
                                                    ${SOJOURN_ADAPTER}/../../../gateway/flexric/service-model/include)
    sojourn_wrap(wraps_e2.txt)
    # The service-model plugin looks it up in the program.
    target_link_options(nr-softmodem PRIVATE LINKER:--export-dynamic-symbol=sojourn_tc_interface)
  endif()
endfunction()

set(SOJOURN_SOURCES adapter.c pdcp.c pdcp_lock.c rlc.c mac.c pace.c housekeeping.c)
cmake_language(DEFER CALL sojourn_into_gnb)
