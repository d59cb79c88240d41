// bar_table.hpp — tables that command lines draw with bars, as rows between tabs.
//
//     +-------------+------------+      a rule
//     |  us-east-1a |  0.310000  |      a row
//     +-------------+------------+
//
// As `aws … --output table` prints them (https://docs.aws.amazon.com/cli/latest/userguide/
// cli-usage-output-format.html), with a title and further bars around an inner table; Markdown and
// the clients of data bases draw the same.
#pragma once

#include <string>
#include <string_view>

namespace ukemi::traces {

struct BarTable {
    // As long as the text, so that places are the same: a row's inner bars are tabs, all else that
    // is not in a cell is blank.
    std::string rows;
    bool names_next_page = false;  // a row "NextToken" with a token
};

// Whether the first line that is not blank is a rule, a title or a row.
bool begins_bar_table(std::string_view head);

// Titles and rules are left out, and so is a header that is said again: several pages one after
// another.
BarTable rows_of_bar_table(std::string_view text);

}  // namespace ukemi::traces
