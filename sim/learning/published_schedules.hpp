// published_schedules.hpp — the law's constants from Goyal et al.'s recipe for ResNet-50.
#pragma once

#include "sim/learning/noise_scale_law.hpp"
#include "sim/learning/published_learning.hpp"

namespace ukemi::sim {

// 90 epochs of ImageNet at batch 256 and rate 0.1, ×0.1 at epochs 30, 60 and 80 (Goyal et al.,
// arXiv:1706.02677), with the noise scale of Pollux's run at batch 12,800 (OSDI'21 artifact). Rate
// over best, limit and scale of the accuracy are fitted on five of Goyal's rows; done after 90
// epochs.
NoiseScaleLaw goyal_law();

// What that law says of all of Goyal's rows (their table 1, fig. 1, tables 2 and 3), and of those
// of linear scaling in AdaScale's table 2: top-1 error, %.
LearningTable goyal_errors(const NoiseScaleLaw& law);

}  // namespace ukemi::sim
