#pragma once
#include <string>
#include <string_view>

namespace ddpscope::reports {

std::string base64(std::string_view bytes);  // RFC 4648, with padding

}  // namespace ddpscope::reports
