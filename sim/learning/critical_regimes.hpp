// critical_regimes.hpp — what a codec or a large batch costs, if it costs only while the gradient
// changes fast.
//
// The account of Accordion (Agarwal et al., MLSys'21, arXiv:2010.16248): a run that sends less, or
// averages less, throughout ends at the `careless` accuracy, one that never does at the `careful`
// one, and of this loss a run has the share of its critical samples (the beginning, and what
// follows a drop of the learning rate) that it trained carelessly:
//
//     accuracy = careful − (careful − careless) · careless critical samples / critical samples.
//
// Which accuracies, and which stretches are critical, is input. A step is careless if its batch is
// larger than the careful one, or its gradients go through another codec than the careful one (none
// is careful, too). All samples are used; the accuracy is known at the end alone.
#pragma once

#include "policies/codec_text.hpp"
#include "sim/learning/noise_scale_law.hpp"

namespace ukemi::sim {

struct CriticalStretch {
    std::int64_t from = 0;  // samples
    std::int64_t until = 0;
};

struct CriticalRegimes {
    std::int64_t samples = 1;
    std::vector<CriticalStretch> critical;  // increasing and apart, at least one
    std::int64_t careful_batch = 0;         // 0: any batch is
    policies::CodecChoice careful_codec;    // none: any codec is
    double careful = 0;                     // accuracies, 0 to 1
    double careless = 0;
    std::vector<MetricPoint> squared_norm;  // |G|², as a monitor sees it; straight in between
};

std::shared_ptr<const LearningModel> make_critical_regimes(CriticalRegimes regimes);

}  // namespace ukemi::sim
