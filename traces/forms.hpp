// forms.hpp — every reader's entry for the table in reader.cpp, and what several of them share.
#pragma once

#include <string>
#include <string_view>

#include "traces/reader.hpp"

namespace ukemi {

TraceForm plain_availability_form();
TraceForm plain_price_form();
TraceForm skypilot_json_form();
TraceForm skynomad_csv_form();
TraceForm skypilot_strategy_form();
TraceForm stamped_price_form();
TraceForm probe_counts_form();
TraceForm bamboo_events_form();
TraceForm bamboo_counts_form();
TraceForm aws_price_history_json_form();
TraceForm aws_price_history_csv_form();
TraceForm skynomad_prices_form();

// The first line of `head` without its line ending; the second if the first is a "#" comment.
std::string_view first_row(std::string_view head);

// The first key of a JSON object that begins at `head`; empty if that is not what begins there.
// `after` is what follows its colon, blanks skipped: '\0' if nothing.
struct FirstKey {
    std::string_view key;
    char after = '\0';
};
FirstKey first_key(std::string_view head);

// Whether a one means "not available", given what the form's own files mean by it.
bool one_means_unavailable(Polarity asked, Polarity documented);

// For forms that count: refuses the inverted polarity, which only zeros and ones can have.
void refuse_inverted_counts(const ReadOptions& options, std::string_view file,
                            std::string_view form);

}  // namespace ukemi
