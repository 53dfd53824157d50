"""Temporary."""
import numpy as np
from rapidfuzz.distance import OSA
def near_values(levels, type, **options):
    begin=[0];other=[];weight=[]
    for i,a in enumerate(levels):
        if type!="categorical":
            for j,b in enumerate(levels):
                if i!=j:
                    d=OSA.distance(a,b)
                    if d<=(1 if max(len(a),len(b))<=4 else 2 if max(len(a),len(b))<=10 else 3):
                        other.append(j);weight.append(np.exp(-2.0*d))
        begin.append(len(other))
    return np.array(begin,dtype=np.int64),np.array(other,dtype=np.int32),np.array(weight,dtype=np.float64)
