target_sources(ddpscope_injector PRIVATE streams/address.cpp streams/connection_call.cpp
  streams/connection_hooks.cpp streams/exchange_call.cpp streams/exchange_hooks.cpp
  streams/loader_batches.cpp streams/message_hooks.cpp streams/store_call.cpp
  streams/store_requests.cpp streams/stream_io.cpp streams/unix_peer.cpp)
