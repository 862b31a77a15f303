target_sources(ddpscope_injector PRIVATE
  mpi/collectives.cpp mpi/communicators.cpp mpi/library.cpp mpi/lifecycle.cpp mpi/messages.cpp mpi/waits.cpp)
