# Puts traffic control into nr-softmodem: sources, library, and the functions that the linker wraps.
# OAI's files stay as they are; its CMake reads this file at the end of project():
#
#   -DCMAKE_PROJECT_OpenAirInterface_INCLUDE=<this file> -DSOJOURN_PREFIX=<prefix>
#
# SOJOURN_PREFIX has include/sojourn_gnb.h and lib/libsojourn_gnb.a. What fits this OAI is seen in its
# headers; `make oai-check` says the same before anything is configured.
include_guard(GLOBAL)

set(SOJOURN_ADAPTER ${CMAKE_CURRENT_LIST_DIR})
set(SOJOURN_PREFIX "" CACHE PATH "Folder with include/sojourn_gnb.h and lib/libsojourn_gnb.a")
if(NOT EXISTS ${SOJOURN_PREFIX}/lib/libsojourn_gnb.a)
  message(FATAL_ERROR "no lib/libsojourn_gnb.a in SOJOURN_PREFIX (${SOJOURN_PREFIX})")
endif()

# Number of arguments that a header of OAI declares a function with, in `out`.
function(sojourn_arguments out header name)
  set(text "")
  if(EXISTS ${CMAKE_SOURCE_DIR}/${header})
    file(READ ${CMAKE_SOURCE_DIR}/${header} text)
  endif()
  # Arguments that are functions count as one.
  string(REGEX MATCH "[ *]${name} *\\(([^;]*)\\) *;" found "${text}")
  string(REGEX REPLACE "\\([^()]*\\)" "" arguments "${CMAKE_MATCH_1}")
  string(REGEX MATCHALL "," commas "${arguments}")
  list(LENGTH commas count)
  if(NOT found)
    set(count -1)
  endif()
  math(EXPR count "${count} + 1")
  set(${out} ${count} PARENT_SCOPE)
endfunction()

# The source that fits what a header declares: each pair of FITS is a number of arguments and a source.
function(sojourn_select out header name)
  sojourn_arguments(count ${header} ${name})
  list(FIND ARGN ${count} at)
  if(at EQUAL -1)
    message(FATAL_ERROR "sojourn: ${header} declares ${name} with ${count} arguments (0: not at all), which no "
                        "generation of the adapter fits; make oai-check OAI=${CMAKE_SOURCE_DIR} says what else differs")
  endif()
  math(EXPR at "${at} + 1")
  list(GET ARGN ${at} source)
  message(STATUS "sojourn: ${source} fits this OAI (${name} has ${count} arguments)")
  set(${out} ${source} PARENT_SCOPE)
endfunction()

function(sojourn_wrap list)
  file(STRINGS ${SOJOURN_ADAPTER}/${list} names)
  foreach(name IN LISTS names)
    target_link_options(nr-softmodem PRIVATE LINKER:--wrap=${name})
  endforeach()
endfunction()

# Deferred to the end of OAI's own file, where its targets are.
function(sojourn_into_gnb)
  sojourn_select(scheduler openair2/LAYER2/NR_MAC_gNB/mac_proto.h gNB_dlsch_ulsch_scheduler
                 4 generation/one_cell.c 5 generation/several_cells.c)
  sojourn_select(entity openair2/LAYER2/nr_pdcp/nr_pdcp_entity.h new_nr_pdcp_entity
                 14 generation/deliver_pdu.c 12 generation/nr_up.c)
  list(APPEND SOJOURN_SOURCES ${scheduler} ${entity})
  list(TRANSFORM SOJOURN_SOURCES PREPEND ${SOJOURN_ADAPTER}/)
  target_sources(nr-softmodem PRIVATE ${SOJOURN_SOURCES})
  # One sentence where something does not fit.
  set_source_files_properties(${SOJOURN_SOURCES} PROPERTIES COMPILE_OPTIONS -Wfatal-errors)
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

set(SOJOURN_SOURCES adapter.c bearer.c pdcp.c rlc.c mac.c pace.c housekeeping.c)
cmake_language(DEFER CALL sojourn_into_gnb)
