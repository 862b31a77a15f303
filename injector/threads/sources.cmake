target_sources(ddpscope_injector PRIVATE threads/barrier_hooks.cpp threads/condition_hooks.cpp threads/hand_over.cpp
  threads/join_hooks.cpp threads/mutex_hooks.cpp threads/releases.cpp threads/rwlock_hooks.cpp threads/semaphore_hooks.cpp
  threads/shared_semaphores.cpp threads/thread_hooks.cpp threads/thread_life.cpp)
