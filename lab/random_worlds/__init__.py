"""Random small worlds: does a profile ever end worse than a cluster left alone?"""
