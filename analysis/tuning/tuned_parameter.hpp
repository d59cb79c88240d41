// tuned_parameter.hpp — what is tuned: parameters of policies, and the settings that are tried.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "scenarios/reader/scenario.hpp"

namespace ukemi::analysis {

struct TunedParameter {
    std::string name;        // as it was called
    std::size_t policy = 0;  // of the list
    std::string key;
    // Those that are tried, in order; or else what lies from `low` to `high`.
    std::vector<std::string> values;
    enum class Range : std::uint8_t { duration_s, integer, number };
    Range range = Range::number;
    double low = 0;
    double high = 0;
    bool is_logarithmic = false;
};

// "interval=10min..4h:log", "safety_net=simple,strong", or with the policy that is meant,
// "periodic.interval=…". InputError about --over for a parameter that no policy of the list has,
// that the list sets already, or a value that it refuses.
TunedParameter parse_tuned_parameter(const std::string& text, const scenarios::PolicyList& list,
                                     const scenarios::Scenario& scenario);

// A value of each parameter, and the list of policies with them as command lines name it.
struct TunedSetting {
    std::vector<std::string> values;
    std::string policies;
};

// At most `count` different settings. Of one parameter they are evenly spread over its range with
// both its ends; of several, each parameter's values are, and which stand together is drawn (a
// Latin hypercube; McKay et al. 1979, Technometrics 21) from the stream "tune" of the seed.
std::vector<TunedSetting> settings_to_try(std::span<const TunedParameter> parameters,
                                          const scenarios::PolicyList& list, std::size_t count,
                                          std::uint64_t seed);

}  // namespace ukemi::analysis
