# Installs BUILD in a separate folder and runs the programs there: they read the assets that were
# installed with them, not those of SOURCE. HAVE_APP: the app was built.
cmake_minimum_required(VERSION 3.25)

set(prefix ${BUILD}/tests/install/prefix)
set(assets ${prefix}/share/attnscope/assets)
unset(ENV{ATTNSCOPE_ASSETS})
file(REMOVE_RECURSE ${prefix})

function(run)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN} ends with ${status}\n${out}${err}")
  endif()
  set(out "${out}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})

# Every asset is there
file(GLOB_RECURSE shipped RELATIVE ${SOURCE}/assets ${SOURCE}/assets/*)
file(GLOB_RECURSE installed RELATIVE ${assets} ${assets}/*)
if(NOT shipped STREQUAL installed)
  message(FATAL_ERROR "Shipped: ${shipped}\nInstalled: ${installed}")
endif()

# A scene that only the installed assets have
file(COPY_FILE ${assets}/scenes/default.json ${assets}/scenes/only-installed.json)
run(${prefix}/bin/attnscope-cli list scenes)
if(NOT out MATCHES "only-installed")
  message(FATAL_ERROR "The installed attnscope-cli lists other scenes:\n${out}")
endif()
run(${prefix}/bin/attnscope-cli simulate --algorithm flash2 --seq-len 1024 --gpu h200)

if(HAVE_APP)
  run(${prefix}/bin/attnscope render --scene only-installed --size 1280x720
      --out ${prefix}/picture.png)
endif()
file(REMOVE_RECURSE ${prefix})
