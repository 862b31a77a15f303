target_sources(ddpscope_injector PRIVATE
  device_times/cuda_events.cpp device_times/cupti_buffers.cpp device_times/cupti_clock.cpp device_times/cupti_hooks.cpp
  device_times/cupti_kinds.cpp device_times/cupti_library.cpp device_times/cupti_records.cpp device_times/cupti_session.cpp
  device_times/device_scope.cpp device_times/event_pairs.cpp device_times/event_poller.cpp device_times/own_thread.cpp
  device_times/sampling.cpp device_times/timing.cpp)
