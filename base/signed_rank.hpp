// signed_rank.hpp — whether paired differences lean to one side, and Holm's correction for asking
// that several times.
#pragma once

#include <span>
#include <vector>

namespace ukemi {

// Wilcoxon's signed-rank test, two-sided: the probability of ranks as one-sided as these, or more,
// if each difference were as likely above zero as below (Wilcoxon 1945, Biometrics Bulletin 1).
// Zeros are left out and equal sizes share their mean rank. Exact up to 200 differences, by the
// normal approximation beyond. 1 where nothing differs. The values are finite.
double signed_rank_p(std::span<const double> differences);

// Holm's correction (Holm 1979, Scandinavian Journal of Statistics 6): each p as it counts among
// all of them, in their order. Below a level, all such may be called significant at it together.
std::vector<double> holm_adjusted(std::span<const double> p_values);

}  // namespace ukemi
