"""What a client may use of a program's servers: rates, shares of what all clients use together."""

from ric.limits.account import Accounts
from ric.limits.bucket import Rate, TokenBucket
from ric.limits.client import Account, Hold
from ric.limits.limits import Exceeded, Limits, retry_after_s
from ric.limits.pool import Pool, Share

__all__ = [
    "Account",
    "Accounts",
    "Exceeded",
    "Hold",
    "Limits",
    "Pool",
    "Rate",
    "Share",
    "TokenBucket",
    "retry_after_s",
]
