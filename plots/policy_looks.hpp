// policy_looks.hpp — the colour, dash and point of who decides: the same in every figure.
//
// A shipped policy, scheduler or searcher has a place in a table; a list of several, and a name
// that the table lacks, one that follows from the names. Looks differ in dash and point as well as
// in colour, so that lines can be told apart in grey.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ukemi::plots {

struct PolicyLook {
    std::string_view colour;
    std::string_view dash;  // of gnuplot
    int point = 7;
    friend bool operator==(const PolicyLook&, const PolicyLook&) = default;
};

// Of a policy or a list of them ("greedy+daly"), by long or short names.
PolicyLook look_of(std::string_view policy);

// Of lines of one figure, in their order. Where two would have colour and point in common, the list
// of several, or else the later in the alphabet, takes the next look that is free; one that is no
// policy a colour that is free, while there is one.
std::vector<PolicyLook> looks_of(std::span<const std::string> policies);

}  // namespace ukemi::plots
