// known_answers.cpp — answers without a history, by the words that they begin with.
//
// Shapes: https://docs.aws.amazon.com/cli/latest/reference/ec2/get-spot-placement-scores.html,
// …/ec2/describe-instance-type-offerings.html, …/ec2/describe-spot-instance-requests.html,
// …/pricing/get-products.html, https://learn.microsoft.com/en-us/cli/azure/vm (list-skus,
// list-sizes), …/cli/azure/format-output-azure-cli,
// https://cloud.google.com/sdk/gcloud/reference/compute and …/sdk/gcloud/reference/topic/formats.
#include "traces/forms/known_answers.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>

#include "traces/forms/bar_table.hpp"
#include "traces/forms/forms.hpp"
#include "traces/forms/price_columns.hpp"

namespace ukemi::traces {

namespace {

struct KnownAnswer {
    bool (*begins)(std::string_view head);
    std::string_view what;
};

bool says(std::string_view head, std::initializer_list<std::string_view> words) {
    return std::ranges::all_of(
        words, [&](std::string_view word) { return head.find(word) != std::string_view::npos; });
}

// A second line of dashes under each name: how the Azure command line draws a table.
bool is_azure_table(std::string_view head) {
    const std::string_view names = first_row(head);
    std::string_view rest = head.substr(
        std::min(head.size(), static_cast<std::size_t>(names.data() - head.data()) + names.size()));
    const std::string_view rule = first_row(rest);
    return rule.starts_with("---") && rule.find_first_not_of("- \t") == std::string_view::npos;
}

// Names in capitals: how the Google command line draws one.
bool is_google_table(std::string_view head) {
    const std::string_view row = first_row(head);
    const bool is_capital =
        row.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_ \t") == std::string_view::npos;
    return is_capital && row.starts_with("NAME ") &&
           (says(row, {"ZONE"}) || says(row, {"REGION"}) || says(row, {"STATUS"}));
}

bool is_aws_scores(std::string_view head) {
    return says(head, {"\"SpotPlacementScores\""}) || says(head, {"GetSpotPlacementScores"}) ||
           head.starts_with("SPOTPLACEMENTSCORES") || head.starts_with("SpotPlacementScores:");
}

bool is_aws_offer(std::string_view head) {
    return says(head, {"\"InstanceTypeOfferings\""}) || says(head, {"\"InstanceTypes\""}) ||
           says(head, {"DescribeInstanceType"}) || head.starts_with("INSTANCETYPE");
}

bool is_aws_own(std::string_view head) {
    return says(head, {"\"SpotInstanceRequests\""}) || says(head, {"\"Reservations\""}) ||
           head.starts_with("SPOTINSTANCEREQUESTS") || head.starts_with("RESERVATIONS");
}

bool is_price_without_time(std::string_view head) {
    if (begins_bar_table(head)) return has_prices_without_times(rows_of_bar_table(head).rows);
    return has_prices_without_times(head);
}

// "timestamp,zone,price_eur": a price by its name, of which nobody knows what it is.
bool is_price_without_usd(std::string_view head) {
    if (begins_json(head)) return false;
    const PriceLayout layout = price_layout_of(head);
    return layout.has_header && layout.has(PriceLayout::stamp) && !layout.has(PriceLayout::price) &&
           says(first_row(head), {"price"});
}

bool is_azure_sizes(std::string_view head) {
    return (begins_json(head) && (says(head, {"\"apiVersions\"", "\"capabilities\""}) ||
                                  says(head, {"\"resourceType\"", "\"virtualMachines\""}) ||
                                  says(head, {"\"numberOfCores\"", "\"memoryInMB\""}))) ||
           says(first_row(head), {"ResourceType", "Locations"}) ||
           says(first_row(head), {"NumberOfCores", "MemoryInM"});
}

bool is_error(std::string_view head) {
    return says(head.substr(0, 200), {"An error occurred ("}) ||
           (begins_json(head) && says(head.substr(0, 200), {"\"error\"", "\"code\""}));
}

// What `--query "…[].[A,B]"` leaves of JSON.
bool is_nameless_list(std::string_view head) {
    std::string begins;
    for (const char c : head.substr(0, 200)) {
        if (c != ' ' && c != '\n' && c != '\r' && c != '\t') begins += c;
    }
    return begins.starts_with("[[\"");
}

// What PowerShell writes through ">", unless it is told otherwise.
bool is_utf16(std::string_view head) {
    return head.starts_with("\xFF\xFE") || head.starts_with("\xFE\xFF");
}

bool is_archive(std::string_view head) {
    return head.starts_with("PK\x03\x04") || head.starts_with("BZh") ||
           head.starts_with("\xFD\x37zXZ") || head.starts_with("\x28\xB5\x2F\xFD");
}

bool is_page_of_web(std::string_view head) { return first_row(head).substr(0, 1) == "<"; }

constexpr std::array<KnownAnswer, 17> answers{{
    {is_aws_scores,
     "scores of one moment by `aws ec2 get-spot-placement-scores`, which cannot be replayed; "
     "prices over time: `aws ec2 describe-spot-price-history --output json`"},
    {is_aws_offer,
     "a list of what AWS offers, without prices; prices over time: `aws ec2 "
     "describe-spot-price-history --output json`"},
    {is_aws_own,
     "a list of your own instances on AWS, without a history; prices over time: `aws ec2 "
     "describe-spot-price-history --output json`"},
    {[](std::string_view head) {
         return says(head, {"\"FormatVersion\"", "\"PriceList\""});
     },
     "on-demand prices by `aws pricing get-products`; write the one of your type as "
     "\"on_demand_price\"; prices over time: `aws ec2 describe-spot-price-history --output json`"},
    {is_price_without_time, "prices without their times; leave Timestamp in the --query"},
    {begins_bar_table,
     "a table without a column of times and one of prices; ask the command for `--output json`"},
    {is_azure_sizes,
     "a list of what Azure offers, without prices; prices: curl "
     "\"https://prices.azure.com/api/retail/prices?$filter=armSkuName eq 'Standard_NC6s_v3'\""},
    {is_azure_table, "a table of the Azure command line; ask it for `--output json`"},
    {[](std::string_view head) { return begins_json(head) && says(head, {"\"compute#"}); },
     "a list of the Google command line, without prices; prices: curl "
     "\"https://cloudbilling.googleapis.com/v1/services/6F81-5844-456A/skus?key=API_KEY\""},
    {is_google_table,
     "a table of the Google command line, without prices; prices: curl "
     "\"https://cloudbilling.googleapis.com/v1/services/6F81-5844-456A/skus?key=API_KEY\""},
    {[](std::string_view head) {
         return says(head.substr(0, 200), {"aws ec2 "}) || says(head.substr(0, 200), {"$ "});
     },
     "a command with its answer; keep the answer alone"},
    {is_error, "an error that a cloud answered with"},
    {is_price_without_usd,
     "times without a column of prices in USD; call that column \"price_usd_per_h\""},
    {is_nameless_list,
     "lists without names, as `--query \"…[].[…]\"` leaves them; leave the --query out"},
    {is_utf16, "text in UTF-16; write it as UTF-8 (in PowerShell: | Out-File -Encoding utf8 FILE)"},
    {is_archive, "an archive; unpack it (of packed files, gzip alone is read)"},
    {is_page_of_web, "a web page or XML; load the file itself, as JSON or text"},
}};

}  // namespace

std::string_view known_answer(std::string_view head) {
    const auto found = std::ranges::find_if(
        answers, [&](const KnownAnswer& answer) { return answer.begins(head); });
    return found == answers.end() ? std::string_view() : found->what;
}

}  // namespace ukemi::traces
