// communicator.cpp — the names of outcomes.
#include "kernels/communicator.hpp"

#include <array>

namespace ukemi::kernels {

std::span<const std::string_view> outcome_names() {
    static constexpr std::array<std::string_view, 4> names{"ok", "peer_lost", "timed_out",
                                                           "aborted"};
    return names;
}

}  // namespace ukemi::kernels
