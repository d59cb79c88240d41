// plan_text.hpp — a whole Plan as text for the wire, and 64 bits over it that workers agree on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "policies/plan.hpp"

namespace ukemi::runtime {

std::string plan_text(const policies::Plan& plan);
// InputError if it is not the text of a Plan.
policies::Plan plan_from_text(std::string_view text);
// Over every field. Each side takes it from the Plan that it holds and not from the text, so that
// equal digests mean equal Plans as they were understood.
std::uint64_t plan_digest(const policies::Plan& plan);

}  // namespace ukemi::runtime
